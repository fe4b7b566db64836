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

-- name: finished_steps
SELECT part.id, part.data, message.data AS message FROM part LEFT JOIN message ON message.id = part.message_id
WHERE part.session_id = ? AND part.data LIKE '%step-finish%' ORDER BY part.id;
