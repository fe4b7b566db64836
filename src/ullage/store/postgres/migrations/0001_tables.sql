-- The tables, from an empty database.
-- oldest: 1

CREATE TABLE sessions (
    key BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id TEXT COLLATE "C" NOT NULL UNIQUE,
    title TEXT NOT NULL,
    model TEXT NOT NULL,
    created DOUBLE PRECISION NOT NULL,
    changed DOUBLE PRECISION NOT NULL,
    seq BIGINT NOT NULL DEFAULT 0,
    origin TEXT NOT NULL,
    owner TEXT NOT NULL DEFAULT '',
    generation BIGINT NOT NULL DEFAULT 0,
    expires DOUBLE PRECISION NOT NULL DEFAULT 0
) WITH (fillfactor = 50);  -- every append updates a row, in its own page and no index

-- `name` and `body` as in store/sqlite/schema.sql.
CREATE TABLE events (
    session BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    name TEXT,
    at DOUBLE PRECISION NOT NULL,
    body BYTEA NOT NULL,
    PRIMARY KEY (session, seq)
);
ALTER TABLE events ALTER body SET STORAGE EXTERNAL;  -- long ones are compressed before they are sent

CREATE TABLE queue (
    session BIGINT NOT NULL REFERENCES sessions (key),
    message TEXT COLLATE "C" NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('steer', 'follow_up')),
    state TEXT NOT NULL CHECK (state IN ('pending', 'delivered', 'returned', 'withdrawn')),
    queued BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    left_at BIGINT,
    at DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (session, message)
);
CREATE INDEX queue_pending ON queue (session, kind DESC, queued) WHERE state = 'pending';

CREATE TABLE drafts (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session BIGINT NOT NULL,
    call TEXT COLLATE "C" NOT NULL,
    first BIGINT NOT NULL,
    last BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    body BYTEA NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.01);
CREATE UNIQUE INDEX drafts_by_call ON drafts (session, call, first);

CREATE TABLE checkpoints (
    session BIGINT PRIMARY KEY REFERENCES sessions (key),
    seq BIGINT NOT NULL,
    made_by TEXT NOT NULL,
    is_packed BOOLEAN NOT NULL,
    data BYTEA NOT NULL
);
ALTER TABLE checkpoints ALTER data SET STORAGE EXTERNAL;

CREATE TABLE blobs (
    key BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    handle TEXT NOT NULL UNIQUE,
    data BYTEA NOT NULL
);
ALTER TABLE blobs ALTER data SET STORAGE EXTERNAL;  -- so that a part is read without the whole

CREATE TABLE kept (
    session BIGINT NOT NULL REFERENCES sessions (key),
    blob BIGINT NOT NULL REFERENCES blobs (key),
    PRIMARY KEY (session, blob)
);
CREATE INDEX kept_by_blob ON kept (blob);

-- The last transaction of each connection that writes, so that one which got no answer to its COMMIT can find out.
-- (A number of PostgreSQL's own does not tell: after a crash it is given to another transaction.)
CREATE TABLE lanes (
    lane TEXT PRIMARY KEY,
    number BIGINT NOT NULL,
    at DOUBLE PRECISION NOT NULL
) WITH (fillfactor = 50);

-- What sessions learnt about a model, by provider and model.
CREATE TABLE learnt (
    model TEXT PRIMARY KEY,
    state BYTEA NOT NULL,
    at DOUBLE PRECISION NOT NULL
);

-- Sessions that have to be driven, and from when on by any process: as in store/sqlite/schema.sql.
CREATE TABLE due (
    session BIGINT PRIMARY KEY REFERENCES sessions (key) ON DELETE CASCADE,
    since DOUBLE PRECISION NOT NULL
);
