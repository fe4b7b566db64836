-- The same as ullage.sql for databases whose schema has a version below 6. Nothing is ever written.

-- name: sessions
SELECT sessions.id, sessions.title, sessions.changed, sessions.origin, first.body
FROM sessions LEFT JOIN events AS first ON first.session = sessions.key AND first.seq = 1
ORDER BY sessions.changed DESC, sessions.key DESC;

-- name: events
SELECT events.seq, events.name, events.at, events.body
FROM events JOIN sessions ON sessions.key = events.session WHERE sessions.id = ?1 AND events.seq >= CAST(?2 AS INTEGER) ORDER BY events.seq;

-- name: children
SELECT id FROM sessions WHERE substr(id, 1, length(?1)) = ?1;

-- name: subagents
SELECT sessions.id, sessions.title, sessions.changed, first.body
FROM sessions LEFT JOIN events AS first ON first.session = sessions.key AND first.seq = 1
WHERE substr(sessions.id, 1, length(?1)) = ?1
ORDER BY sessions.changed DESC, sessions.key DESC;
