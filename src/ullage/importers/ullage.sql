-- Reading of our own sessions' database, whose schema is ullage/store/schema.sql. Nothing is ever written.

-- name: version
PRAGMA user_version;

-- name: sessions
SELECT sessions.id, sessions.title, sessions.changed, first.body
FROM sessions LEFT JOIN events AS first ON first.session = sessions.key AND first.seq = 1
ORDER BY sessions.changed DESC, sessions.key DESC;

-- name: events
SELECT events.seq, events.name, events.at, events.body
FROM events JOIN sessions ON sessions.key = events.session WHERE sessions.id = ? ORDER BY events.seq;
