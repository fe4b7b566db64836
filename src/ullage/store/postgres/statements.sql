-- Every statement that is no call of a function of migrations/, by name.

-- name: list_sessions
SELECT id, title, model, created, changed, seq,
    CASE WHEN expires > now_s() THEN owner ELSE '' END, origin, generation, key
FROM sessions WHERE (changed, key) < ($1::float8, $2::bigint) ORDER BY changed DESC, key DESC LIMIT $3;

-- name: living_owners
SELECT DISTINCT owner FROM due JOIN sessions ON key = session WHERE owner <> '' AND expires > now_s();

-- name: unattended
SELECT id, seq FROM due JOIN sessions ON key = session
WHERE position('/' IN id) = 0 AND since <= now_s() AND (expires <= now_s() OR owner = ANY ($1::text[]))
ORDER BY greatest(since, expires), key LIMIT $2;

-- name: about_session
SELECT id, title, model, created, changed, seq,
    CASE WHEN expires > now_s() THEN owner ELSE '' END, origin, generation, key
FROM sessions WHERE id = $1;

-- name: unchanged_since
SELECT id, now_s() - $1::float8 FROM sessions
WHERE changed < now_s() - $1::float8 AND (expires <= now_s() OR owner = '' OR owner = ANY ($2::text[])) LIMIT 100;

-- name: owners
SELECT DISTINCT owner FROM sessions WHERE owner <> '';

-- name: key_of
SELECT key FROM sessions WHERE id = $1;

-- name: key_and_time
SELECT key, (SELECT at FROM events WHERE session = key AND seq = $2) FROM sessions WHERE id = $1;

-- name: look
SELECT found.*, (SELECT events.at FROM sessions JOIN events ON session = key AND events.seq = $2 WHERE id = $1) AS last_at
FROM look($1, $2, $3, $4) found;

-- name: read_events
SELECT seq, name, at, body FROM events WHERE session = $1 AND seq > $2 ORDER BY seq LIMIT $3;

-- name: read_these_events
SELECT seq, name, at, body FROM events WHERE session = $1 AND seq = ANY ($2::bigint[]) ORDER BY seq;

-- name: left_queue_at
SELECT message, state FROM queue WHERE session = $1 AND left_at = $2;

-- name: pending
SELECT q.message, q.kind, q.at, e.seq, e.name, e.at AS event_at, e.body
FROM queue q JOIN events e ON e.session = q.session AND e.seq = q.seq
WHERE q.session = $1 AND q.state = 'pending' ORDER BY q.kind DESC, q.queued;

-- name: queued
SELECT q.state, q.at, e.seq, e.name, e.at AS event_at, e.body,
    CASE WHEN q.state = 'pending' THEN place_of(q.session, q.kind, q.queued) ELSE 0 END AS place
FROM queue q JOIN events e ON e.session = q.session AND e.seq = q.seq WHERE q.session = $1 AND q.message = $2;

-- name: read_drafts
SELECT id, call, first, seq, body FROM drafts WHERE session = $1 ORDER BY id;

-- name: checkpoint
SELECT seq, made_by, is_packed, data FROM checkpoints WHERE session = $1 AND made_by = $2;

-- name: kept
SELECT blobs.key FROM kept JOIN blobs ON blobs.key = kept.blob WHERE kept.session = $1 AND blobs.handle = $2;

-- name: kept_bytes
SELECT substring(data FROM $2::int FOR $3::int) FROM blobs WHERE key = $1;

-- name: kept_handles
SELECT blobs.handle FROM kept JOIN blobs ON blobs.key = kept.blob WHERE kept.session = $1 ORDER BY blobs.key;

-- name: last_of_lane
SELECT number FROM lanes WHERE lane = $1 FOR UPDATE;

-- name: forget_lanes
DELETE FROM lanes WHERE at < now_s() - 86400;

-- name: states
SELECT id, seq, owner, generation, (SELECT max(drafts.id) FROM drafts WHERE drafts.session = sessions.key)
FROM sessions WHERE id = ANY ($1::text[]);
