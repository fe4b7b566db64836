-- Reading of OpenCode's own database. Its schema: https://github.com/anomalyco/opencode,
-- packages/core/src/session/sql.ts. Nothing is ever written.

-- name: tables
SELECT name FROM sqlite_master WHERE type = 'table';

-- name: sessions
SELECT * FROM session;

-- name: messages
SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id;

-- name: parts
SELECT part.id, part.message_id, part.data FROM part JOIN message ON message.id = part.message_id
WHERE part.session_id = ?1 AND message.session_id = ?1 ORDER BY message.time_created, message.id, part.id;

-- name: rows
SELECT id, type, data FROM session_message WHERE session_id = ? ORDER BY seq;

-- name: newest_message
SELECT max(time_created) AS newest FROM message WHERE session_id = ?;

-- name: newest_row
SELECT max(time_created) AS newest FROM session_message WHERE session_id = ?;

-- name: baseline
SELECT baseline FROM session_context_epoch WHERE session_id = ?;

-- name: finished_steps
SELECT id, message_id, data FROM part WHERE session_id = ? AND data LIKE '%step-finish%' ORDER BY id;
