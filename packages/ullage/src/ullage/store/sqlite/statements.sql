-- Every statement of the SQLite store, by name. Times are seconds since 1970 by the database's clock.

-- name: head
SELECT key, seq, owner, generation, expires, title, model, standing, listed, (julianday('now') - 2440587.5) * 86400.0
FROM current_sessions WHERE id = ?;

-- name: now
SELECT (julianday('now') - 2440587.5) * 86400.0;

-- name: add_session
INSERT INTO sessions (id, title, model, created, changed, listed, origin, tenant, place)
VALUES (?1, '', '', ?2, ?3, ?3, ?4, ?5, ?6);

-- name: change_session
UPDATE sessions SET changed = ?, title = ?, model = ?, listed = ?, standing = ?, state = ? WHERE key = ?;

-- name: set_origin
UPDATE sessions SET origin = ? WHERE key = ?;

-- name: list_sessions
SELECT * FROM session_rows WHERE (listed, key) < (?1, ?2) ORDER BY listed DESC, key DESC LIMIT ?3;

-- name: list_sessions_of
SELECT * FROM session_rows WHERE (listed, key) < (?1, ?2) AND tenant = ?4
ORDER BY listed DESC, key DESC LIMIT ?3;

-- The plus of `+tenant` keeps SQLite from reading all sessions of the tenant.

-- name: list_in_state
SELECT * FROM session_rows WHERE (listed, key) < (?1, ?2) AND state IS NOT NULL
    AND state IN (SELECT value FROM json_each(?4)) ORDER BY listed DESC, key DESC LIMIT ?3;

-- name: list_in_state_of
SELECT * FROM session_rows WHERE (listed, key) < (?1, ?2) AND state IS NOT NULL
    AND state IN (SELECT value FROM json_each(?4)) AND +tenant = ?5 ORDER BY listed DESC, key DESC LIMIT ?3;

-- name: standing_counts
SELECT state, count(*), min(listed) FROM sessions WHERE state IS NOT NULL GROUP BY state;

-- name: standing_counts_of
SELECT state, count(*), min(listed) FROM sessions WHERE state IS NOT NULL AND tenant = ? GROUP BY state;

-- In the two statements below, the few rows of `due` lead to their sessions: SQLite reorders no CROSS JOIN.

-- name: living_owners
SELECT DISTINCT owner FROM due CROSS JOIN sessions ON key = session
WHERE owner <> '' AND expires > (julianday('now') - 2440587.5) * 86400.0;

-- name: unattended
SELECT id, seq, max(0.0, (julianday('now') - 2440587.5) * 86400.0 - max(since, expires)), place
FROM due CROSS JOIN current_sessions ON key = session
WHERE instr(id, '/') = 0 AND since <= (julianday('now') - 2440587.5) * 86400.0
    AND (expires <= (julianday('now') - 2440587.5) * 86400.0 OR owner IN (SELECT value FROM json_each(?1)))
    AND (?2 IS NULL OR place IN (SELECT value FROM json_each(?2)))
ORDER BY max(since, expires), key LIMIT ?3;

-- name: make_due
INSERT INTO due (session, since) VALUES (?, (julianday('now') - 2440587.5) * 86400.0 + ?)
ON CONFLICT (session) DO UPDATE SET since = min(since, excluded.since);

-- name: end_due
DELETE FROM due WHERE session = (
    SELECT key FROM current_sessions WHERE id = ? AND owner = ? AND generation = ? AND seq = ?
);

-- name: postpone
INSERT INTO due (session, since) SELECT key, ?5 FROM current_sessions
WHERE id = ?1 AND owner = ?2 AND generation = ?3 AND seq = ?4
ON CONFLICT (session) DO UPDATE SET since = excluded.since;

-- name: records
SELECT key, value FROM records WHERE kind = ?1 AND (?2 IS NULL OR key IN (SELECT value FROM json_each(?2)));

-- name: set_record
INSERT INTO records (kind, key, value) VALUES (?, ?, ?) ON CONFLICT (kind, key) DO UPDATE SET value = excluded.value;

-- name: unset_record
DELETE FROM records WHERE kind = ? AND key = ?;

-- name: delete_due
DELETE FROM due WHERE session = ?;

-- name: about_session
SELECT * FROM session_rows WHERE id = ?;

-- name: add_event
INSERT INTO events (id, name, at, body) VALUES (?1 << 32 | ?2, ?3, ?4, ?5);

-- name: read_events
SELECT seq, name, at, body FROM events WHERE id > (?1 << 32) + ?2 AND id < (?1 + 1) << 32 ORDER BY id LIMIT ?3;

-- name: time_of_event
SELECT at FROM events WHERE id = ?1 << 32 | ?2 AND seq = ?2;

-- name: read_event
SELECT seq, name, at, body FROM events WHERE id = ?1 << 32 | ?2 AND seq = ?2;

-- name: read_these_events
SELECT seq, name, at, body FROM events
WHERE id IN (SELECT ?1 << 32 | value FROM json_each(?2)) AND session = ?1 ORDER BY id;

-- name: states
SELECT sessions.id, key, created, owner, generation,
    (SELECT max(events.id) FROM events WHERE events.id > key << 32 AND events.id < (key + 1) << 32),
    (SELECT max(drafts.id) FROM drafts WHERE drafts.id > key << 32 AND drafts.id < (key + 1) << 32)
FROM sessions WHERE sessions.id IN (SELECT value FROM json_each(?));

-- name: take_lease
UPDATE sessions SET owner = ?, generation = generation + 1,
    expires = (julianday('now') - 2440587.5) * 86400.0 + ? WHERE key = ?;

-- name: renew_lease
UPDATE sessions SET expires = (julianday('now') - 2440587.5) * 86400.0 + ? WHERE key = ?;

-- name: release_lease
UPDATE sessions SET owner = '', expires = 0, (changed, listed) = (
    SELECT changed, max(listed, changed) FROM current_sessions WHERE key = sessions.key
) WHERE id = ? AND owner = ? AND generation = ?;

-- name: queued
SELECT kind, state, queued, seq, at FROM queue WHERE session = ? AND message = ?;

-- name: enqueue
INSERT INTO queue (session, message, kind, state, queued, seq, at) VALUES (?, ?, ?, 'pending', ?, ?, ?);

-- name: requeue
UPDATE queue SET seq = ? WHERE session = ? AND message = ? AND state = 'pending';

-- name: leave_queue
UPDATE queue SET state = ?, left_at = ? WHERE session = ? AND message = ? AND state = 'pending';

-- name: left_queue_at
SELECT message, state FROM queue WHERE session = ? AND left_at = ?;

-- name: place_in_queue
SELECT count(*) FROM queue WHERE session = ? AND state = 'pending'
    AND (kind > ? OR (kind = ? AND queued < ?));

-- name: pending
SELECT message, kind, seq, at FROM queue WHERE session = ? AND state = 'pending' ORDER BY kind DESC, queued;

-- name: next_piece
SELECT coalesce((SELECT last + 1 FROM drafts WHERE id > ?1 << 32 AND id < (?1 + 1) << 32 AND call = ?2
    ORDER BY id DESC LIMIT 1), 0);

-- name: add_draft
INSERT INTO drafts (id, call, first, last, body, seq) SELECT
    1 + coalesce((SELECT max(id) FROM drafts WHERE id > ?1 << 32 AND id < (?1 + 1) << 32), ?1 << 32), ?2, ?3, ?4, ?5, ?6;

-- name: read_drafts
SELECT number, call, first, seq, body FROM drafts
WHERE id > (?1 << 32) + ?2 AND id < (?1 + 1) << 32 AND call <> '' ORDER BY id;

-- name: end_draft
DELETE FROM drafts WHERE id > ?1 << 32 AND call IN (?2, '')
    AND id < (SELECT max(id) FROM drafts WHERE id > ?1 << 32 AND id < (?1 + 1) << 32);

-- name: empty_last_draft
UPDATE drafts SET call = '', body = x'' WHERE id > ?1 << 32 AND id < (?1 + 1) << 32 AND call = ?2;

-- name: save_checkpoint
INSERT INTO checkpoints (session, seq, made_by, is_packed, data) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (session) DO UPDATE SET
    seq = excluded.seq, made_by = excluded.made_by, is_packed = excluded.is_packed, data = excluded.data;

-- name: checkpoint
SELECT seq, made_by, is_packed, data FROM checkpoints WHERE session = ? AND made_by = ?;

-- name: add_blob
INSERT INTO blobs (handle, data) VALUES (?, ?) ON CONFLICT (handle) DO NOTHING;

-- name: keep
INSERT INTO kept (session, blob) SELECT ?, key FROM blobs WHERE handle = ? ON CONFLICT DO NOTHING;

-- name: kept
SELECT blobs.key FROM kept JOIN blobs ON blobs.key = kept.blob WHERE kept.session = ? AND blobs.handle = ?;

-- name: kept_handles
SELECT blobs.handle, blobs.key FROM kept JOIN blobs ON blobs.key = kept.blob WHERE kept.session = ? ORDER BY blobs.key;

-- name: copy_kept
INSERT INTO kept (session, blob) SELECT ?, blob FROM kept WHERE session = ?;

-- name: tenant
SELECT tenant FROM sessions WHERE key = ?;

-- name: indexed_up_to
SELECT coalesce(max(upto), 0) FROM texts WHERE session = ?;

-- name: newest_text
SELECT coalesce((SELECT first + upto - after FROM texts ORDER BY first DESC LIMIT 1), 0);

-- name: add_texts
INSERT INTO texts (first, session, after, upto) VALUES (?, ?, ?, ?);

-- name: add_words
INSERT INTO words (rowid, word) VALUES (?, ?);

-- name: find_texts
SELECT found.rowid, sessions.id, found.rowid - first + after
FROM (SELECT rowid FROM words WHERE words MATCH ?1 AND rowid < ?2 ORDER BY rowid DESC LIMIT ?3) AS found
JOIN texts ON first = (SELECT max(first) FROM texts WHERE first < found.rowid)
JOIN sessions ON key = session ORDER BY found.rowid DESC;

-- name: texts_of
SELECT first, after, upto FROM texts WHERE session = ?;

-- name: delete_words
INSERT INTO words (words, rowid, word) VALUES ('delete', ?, ?);

-- name: delete_texts
DELETE FROM texts WHERE session = ?;

-- name: delete_queue
DELETE FROM queue WHERE session = ?;

-- name: delete_drafts
DELETE FROM drafts WHERE id > ?1 << 32 AND id < (?1 + 1) << 32;

-- name: delete_checkpoint
DELETE FROM checkpoints WHERE session = ?;

-- name: orphans_of
SELECT blob FROM kept AS own WHERE session = ?
    AND NOT EXISTS (SELECT 1 FROM kept AS other WHERE other.blob = own.blob AND other.session <> own.session);

-- name: delete_kept
DELETE FROM kept WHERE session = ?;

-- name: delete_blob
DELETE FROM blobs WHERE key = ?;

-- name: delete_events
DELETE FROM events WHERE id > ?1 << 32 AND id < (?1 + 1) << 32;

-- name: delete_session
DELETE FROM sessions WHERE key = ?;
