-- Reading of our own sessions' database, whose schema is ullage/store/sqlite/schema.sql. Nothing is ever written.

-- name: sessions
SELECT sessions.id, sessions.title, sessions.changed, sessions.origin, first.body,
    standing, held_by, due_at, place
FROM session_rows AS sessions LEFT JOIN events AS first ON first.id = sessions.key << 32 | 1
ORDER BY sessions.changed DESC, sessions.key DESC;

-- name: events
SELECT events.seq, events.name, events.at, events.body
FROM sessions JOIN events ON events.id >= (key << 32) + CAST(?2 AS INTEGER) AND events.id < (key + 1) << 32
WHERE sessions.id = ?1 ORDER BY events.id;

-- name: children
SELECT id FROM sessions WHERE substr(id, 1, length(?1)) = ?1;
