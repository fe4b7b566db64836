-- Every statement that is no call of a function of schema.sql, by name.

-- name: list_sessions
SELECT * FROM list_sessions($1, $2, $3, $4, $5);

-- name: standing_counts
SELECT state, count(*), min(listed) FROM sessions WHERE state IS NOT NULL GROUP BY state;

-- name: standing_counts_of
SELECT state, count(*), min(listed) FROM sessions WHERE state IS NOT NULL AND tenant = $1 GROUP BY state;

-- In the two statements below, the few rows of `due` lead to their sessions. A join may read all sessions instead:
-- OFFSET 0 keeps the planner from making one.

-- name: living_owners
SELECT DISTINCT owner FROM due, LATERAL (SELECT * FROM sessions WHERE key = due.session OFFSET 0) found
WHERE owner <> '' AND expires > now_s();

-- name: unattended
SELECT id, seq, greatest(0, now_s() - greatest(since, expires)), place
FROM due, LATERAL (SELECT * FROM sessions WHERE key = due.session OFFSET 0) found
WHERE position('/' IN id) = 0 AND since <= now_s() AND (expires <= now_s() OR owner = ANY ($1::text[]))
    AND ($2::text[] IS NULL OR place = ANY ($2::text[]))
ORDER BY greatest(since, expires), key LIMIT $3;

-- name: free_locks
SELECT key FROM unnest($1::bigint[]) AS asked (key) WHERE NOT EXISTS (
    SELECT FROM pg_locks
    WHERE locktype = 'advisory' AND objsubid = 1 AND granted AND (classid::bigint << 32 | objid::bigint) = key
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
) AND (
    SELECT min(backend_start) < clock_timestamp() - $2::float8 * interval '1 s' FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'ullage'
);

-- name: about_session
SELECT * FROM session_rows WHERE id = $1;

-- Of the reads below, each is one statement, so that it sees one moment. No row: no such session. A row of nulls: the
-- session is there, and has nothing of the kind.

-- name: look
SELECT found.*, (SELECT events.at FROM sessions JOIN events ON session = key AND events.seq = $2 WHERE id = $1) AS last_at
FROM look($1, $2, $3, $4) found;

-- name: read_events
SELECT e.seq, e.name, e.at, e.body, last.at AS last_at FROM sessions s
LEFT JOIN events last ON last.session = s.key AND last.seq = $2
LEFT JOIN LATERAL (
    SELECT * FROM events WHERE session = s.key AND seq > $2 ORDER BY seq LIMIT $3
) e ON true WHERE s.id = $1;

-- name: read_these_events
SELECT e.seq, e.name, e.at, e.body FROM sessions s
LEFT JOIN events e ON e.session = s.key AND e.seq = ANY ($2::bigint[]) WHERE s.id = $1 ORDER BY e.seq;

-- name: read_unindexed
SELECT e.seq, e.name, e.at, e.body, indexed.upto, s.tenant FROM sessions s
CROSS JOIN LATERAL (SELECT greatest(max(seq), $2) AS upto FROM texts WHERE session = s.key) indexed
JOIN events e ON e.session = s.key AND e.seq > indexed.upto WHERE s.id = $1 ORDER BY e.seq LIMIT $3;

-- name: find_texts
SELECT * FROM find_texts($1, $2, $3);

-- name: left_queue_at
SELECT q.message, q.state FROM sessions s JOIN queue q ON q.session = s.key WHERE s.id = $1 AND q.left_at = $2;

-- name: pending
SELECT q.message, q.kind, q.at, e.seq, e.name, e.at AS event_at, e.body FROM sessions s
LEFT JOIN queue q ON q.session = s.key AND q.state = 'pending'
LEFT JOIN events e ON e.session = q.session AND e.seq = q.seq
WHERE s.id = $1 ORDER BY q.kind DESC, q.queued;

-- name: queued
SELECT q.message, q.state, q.at, e.seq, e.name, e.at AS event_at, e.body,
    CASE WHEN q.state = 'pending' THEN place_of(q.session, q.kind, q.queued) ELSE 0 END AS place
FROM sessions s LEFT JOIN queue q ON q.session = s.key AND q.message = $2
LEFT JOIN events e ON e.session = q.session AND e.seq = q.seq WHERE s.id = $1;

-- name: read_drafts
SELECT d.id, d.call, d.first, d.seq, d.body FROM sessions s LEFT JOIN drafts d ON d.session = s.key
WHERE s.id = $1 ORDER BY d.id;

-- name: checkpoint
SELECT c.seq, c.made_by, c.is_packed, c.data FROM sessions s
LEFT JOIN checkpoints c ON c.session = s.key AND c.made_by = $2 WHERE s.id = $1;

-- name: kept_bytes
SELECT substring(b.data FROM $3::int FOR $4::int) FROM sessions s
LEFT JOIN (kept k JOIN blobs b ON b.key = k.blob AND b.handle = $2) ON k.session = s.key WHERE s.id = $1;

-- name: kept_handles
SELECT b.handle FROM sessions s LEFT JOIN (kept k JOIN blobs b ON b.key = k.blob) ON k.session = s.key
WHERE s.id = $1 ORDER BY b.key;

-- name: forget_writers
DELETE FROM writers WHERE at < now_s() - 86400;

-- name: begin_job
SELECT begin_write('', $1, $2), set_config('idle_in_transaction_session_timeout', '20s', true);

-- name: end_job
SELECT end_write($1, $2, NULL);

-- name: states
SELECT id, seq,
    (SELECT ARRAY[drafts.seq, last] FROM drafts WHERE drafts.session = sessions.key ORDER BY drafts.id DESC LIMIT 1)
FROM sessions WHERE id = ANY ($1::text[]);

-- name: lock_record
INSERT INTO records (kind, key, value) VALUES ($1, $2, '')
ON CONFLICT (kind, key) DO UPDATE SET value = records.value RETURNING value, now_s() AS now;

-- name: set_record
UPDATE records SET value = $3, version = DEFAULT WHERE kind = $1 AND key = $2;

-- name: unset_record
DELETE FROM records WHERE kind = $1 AND key = $2;

-- name: records
SELECT key, value FROM records WHERE kind = $1 AND value <> '' AND ($2::text[] IS NULL OR key = ANY ($2::text[]))
ORDER BY key;

-- name: count_records
SELECT count(*) FROM records WHERE kind = $1 AND value <> '';

-- name: records_state
SELECT count(*), sum(version), max(version) FROM records WHERE kind = $1 AND value <> '';
