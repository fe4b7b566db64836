-- The whole schema, as a new database gets it. docs/why/index.md#sqlite says why it is so.

CREATE TABLE sessions (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL,
    model TEXT NOT NULL,
    created REAL NOT NULL,
    changed REAL NOT NULL,
    listed REAL NOT NULL,
    origin TEXT NOT NULL,
    owner TEXT NOT NULL DEFAULT '',
    generation INTEGER NOT NULL DEFAULT 0,
    expires REAL NOT NULL DEFAULT 0,
    tenant TEXT NOT NULL DEFAULT 'default',
    place TEXT NOT NULL DEFAULT '',
    standing TEXT NOT NULL DEFAULT '{}',
    state TEXT
);

-- Lists are read in the order of an index, from its end. `state` is the standing's where it is one that is counted
-- (COUNTED of turns/standing.py), so that a session that works and rests changes no index but for its place in lists.
CREATE INDEX sessions_listed ON sessions (listed);
CREATE INDEX sessions_of_tenant ON sessions (tenant, listed);
CREATE INDEX sessions_counted ON sessions (listed, key, tenant, state) WHERE state IS NOT NULL;
CREATE INDEX sessions_by_state ON sessions (tenant, state, listed) WHERE state IS NOT NULL;

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

-- A message that was queued. Its content is in the event `seq`; `queued` is the event that queued it,
-- `left_at` the one that ended its wait.
CREATE TABLE queue (
    session INTEGER NOT NULL REFERENCES sessions (key),
    message TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('steer', 'follow_up')),
    state TEXT NOT NULL CHECK (state IN ('pending', 'delivered', 'returned', 'withdrawn')),
    queued INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    left_at INTEGER,
    at REAL NOT NULL,
    PRIMARY KEY (session, message)
) WITHOUT ROWID;

CREATE INDEX queue_pending ON queue (session, kind DESC, queued) WHERE state = 'pending';

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

CREATE TABLE checkpoints (
    session INTEGER PRIMARY KEY REFERENCES sessions (key),
    seq INTEGER NOT NULL,
    made_by TEXT NOT NULL,
    is_packed INTEGER NOT NULL,
    data BLOB NOT NULL
);

CREATE TABLE blobs (
    key INTEGER PRIMARY KEY,
    handle TEXT NOT NULL UNIQUE,
    data BLOB NOT NULL
);

CREATE TABLE kept (
    session INTEGER NOT NULL REFERENCES sessions (key),
    blob INTEGER NOT NULL REFERENCES blobs (key),
    PRIMARY KEY (session, blob)
) WITHOUT ROWID;

CREATE INDEX kept_by_blob ON kept (blob);

-- Sessions that have to be driven: from a message or command until a driver releases them at rest. Before `since`, the
-- process that stored the message or command drives them: see Store.unattended.
CREATE TABLE due (
    session INTEGER PRIMARY KEY REFERENCES sessions (key),
    since REAL NOT NULL
);

-- What all processes of the store know beside its sessions, as JSON: quotas, and what is left of providers' rates. See
-- Store.revise.
CREATE TABLE records (
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (kind, key)
) WITHOUT ROWID;

-- Where words are, without the texts. Row `first + seq - after` of `words` is the event `seq` of the session, so that the
-- row with the highest number was indexed last; `texts` has a row for each time that a session's events were. A word
-- stands behind the name of its tenant and the number of its volume (VOLUME_BITS of store/policy.py): looking up a word
-- of many rows, or a beginning of many words, costs no more than a volume has.
CREATE VIRTUAL TABLE words USING fts5 (
    word, content = '', columnsize = 0, detail = none, tokenize = "ascii tokenchars ':-_'"
);

CREATE TABLE texts (
    first INTEGER PRIMARY KEY,
    session INTEGER NOT NULL REFERENCES sessions (key),
    after INTEGER NOT NULL,
    upto INTEGER NOT NULL
);

CREATE INDEX texts_by_session ON texts (session, upto);

-- The rows of sessions with what their last events tell. `changed` is older in `sessions` while a driver appends.
CREATE VIEW current_sessions AS
SELECT key, id, title, model, created, listed, origin, owner, generation, expires, tenant, place, standing, state,
    coalesce((SELECT max(events.id) FROM events WHERE events.id > key << 32 AND events.id < (key + 1) << 32) & 0xFFFFFFFF, 0) AS seq,
    CASE owner WHEN '' THEN changed ELSE max(changed, coalesce((
        SELECT at FROM events WHERE events.id > key << 32 AND events.id < (key + 1) << 32 ORDER BY events.id DESC LIMIT 1
    ), 0)) END AS changed
FROM sessions;

-- What SessionRow holds, in its order, and `state`.
CREATE VIEW session_rows AS
SELECT id, title, model, created, changed, seq,
    CASE WHEN expires > (julianday('now') - 2440587.5) * 86400.0 THEN owner ELSE '' END AS held_by, origin, generation,
    key, (SELECT since FROM due WHERE session = key) AS due_at, tenant, place, standing, listed, state
FROM current_sessions;
