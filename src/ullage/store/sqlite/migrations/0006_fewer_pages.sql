-- A commit writes each page that it touches as a whole, so a step of a loop touches fewer: the number of an event's row
-- holds its session and its number there, so that one tree serves both orders and no other table counts; the row of a
-- session is not written with each event.
ALTER TABLE events RENAME TO events_before;

-- `id` is session * 2^32 + seq. `name` is the event's id where that is not e<seq>. `body` is the event's JSON without
-- its envelope, or that compressed by zlib (its first byte is then not a brace), with the words of event_words.py.
CREATE TABLE events (
    id INTEGER PRIMARY KEY,
    name TEXT,
    at REAL NOT NULL,
    body BLOB NOT NULL,
    session INTEGER GENERATED ALWAYS AS (id >> 32) VIRTUAL,
    seq INTEGER GENERATED ALWAYS AS (id & 4294967295) VIRTUAL
);

INSERT INTO events (id, name, at, body)
SELECT session << 32 | seq, name, at, body FROM events_before ORDER BY session, seq;

DROP TABLE events_before;

ALTER TABLE drafts RENAME TO drafts_before;

-- Pieces `first` to `last` of an answer under way, stored when the session's last event was `seq`. `id` is
-- session * 2^32 + number. The last row of a session stays, as an empty one without a call, so that no number is used
-- twice: a follower asks for rows behind a number.
CREATE TABLE drafts (
    id INTEGER PRIMARY KEY,
    call TEXT NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    body BLOB NOT NULL,
    session INTEGER GENERATED ALWAYS AS (id >> 32) VIRTUAL,
    number INTEGER GENERATED ALWAYS AS (id & 4294967295) VIRTUAL
);

INSERT INTO drafts (id, call, first, last, seq, body)
SELECT session << 32 | row_number() OVER (PARTITION BY session ORDER BY id), call, first, last, seq, body
FROM drafts_before;

DROP TABLE drafts_before;

ALTER TABLE sessions DROP COLUMN seq;

-- The rows of sessions with what their last events tell. `changed` is older in `sessions` while a driver appends.
CREATE VIEW current_sessions AS
SELECT key, id, title, model, created, origin, owner, generation, expires, tenant, place,
    coalesce((SELECT max(events.id) FROM events WHERE events.id > key << 32 AND events.id < (key + 1) << 32) & 0xFFFFFFFF, 0) AS seq,
    CASE owner WHEN '' THEN changed ELSE max(changed, coalesce((
        SELECT at FROM events WHERE events.id > key << 32 AND events.id < (key + 1) << 32 ORDER BY events.id DESC LIMIT 1
    ), 0)) END AS changed
FROM sessions;
