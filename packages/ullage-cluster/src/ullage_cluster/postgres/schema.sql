-- The whole schema, as an empty database gets it. docs/scale.md says how tenants are kept apart.

-- The version of these tables: VERSION of store/postgres/tables.py.
CREATE TABLE schema_versions (version INT PRIMARY KEY);

CREATE TABLE sessions (
    key BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id TEXT COLLATE "C" NOT NULL UNIQUE,
    title TEXT NOT NULL,
    model TEXT NOT NULL,
    created DOUBLE PRECISION NOT NULL,
    changed DOUBLE PRECISION NOT NULL,
    listed DOUBLE PRECISION NOT NULL,
    seq BIGINT NOT NULL DEFAULT 0,
    origin TEXT NOT NULL,
    owner TEXT NOT NULL DEFAULT '',
    generation BIGINT NOT NULL DEFAULT 0,
    expires DOUBLE PRECISION NOT NULL DEFAULT 0,
    tenant TEXT COLLATE "C" NOT NULL DEFAULT 'default',
    place TEXT COLLATE "C" NOT NULL DEFAULT '',
    standing TEXT NOT NULL DEFAULT '{}',
    state TEXT COLLATE "C"
) WITH (fillfactor = 50);  -- every append updates a row, in its own page and no index

-- `listed` and `state` as in store/sqlite/schema.sql. The indexes of all tenants are of `listed + 0`, so that a tenant
-- whose sessions are old is not looked for among those of all others.
CREATE INDEX sessions_listed ON sessions ((listed + 0), key);
CREATE INDEX sessions_of_tenant ON sessions (tenant, listed, key);
CREATE INDEX sessions_counted ON sessions ((listed + 0), key) WHERE state IS NOT NULL;
CREATE INDEX sessions_counted_of_tenant ON sessions (tenant, listed, key) INCLUDE (state) WHERE state IS NOT NULL;

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

-- The newest row of a session is found by its session: without that each look at a session read the rows of all the
-- others that stream (1,000 streams: 189 ms of PostgreSQL's CPU a turn of 100 pieces, bench.many).
CREATE TABLE drafts (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    session BIGINT NOT NULL,
    call TEXT COLLATE "C" NOT NULL,
    first BIGINT NOT NULL,
    last BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    body BYTEA NOT NULL,
    PRIMARY KEY (session, id)
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

-- Where words are, without the texts: those of the event `seq`, as in store/sqlite/schema.sql. A policy here would keep the index from being used, since `@@` is not leakproof: a tenant's search
-- asks for its own words alone, and what is found is joined to `sessions`, which has a policy.
CREATE SEQUENCE texts_number;
CREATE TABLE texts (
    number BIGINT PRIMARY KEY,
    session BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    words TSVECTOR NOT NULL
);
CREATE INDEX texts_by_session ON texts (session, seq);
CREATE INDEX texts_by_word ON texts USING gin (words);

-- The last transaction of each writer (a process has one for each write that is under way), so that one which got no
-- answer can be asked about. (A number of PostgreSQL's own does not tell: after a crash another transaction gets it.)
CREATE TABLE writers (
    name TEXT PRIMARY KEY,
    number BIGINT NOT NULL,
    at DOUBLE PRECISION NOT NULL,
    answer JSONB
) WITH (fillfactor = 50);

-- Sessions that have to be driven, and from when on by any process: as in store/sqlite/schema.sql.
CREATE TABLE due (
    session BIGINT PRIMARY KEY REFERENCES sessions (key) ON DELETE CASCADE,
    since DOUBLE PRECISION NOT NULL
);

-- What all processes of the store know beside its sessions, as JSON: tokens, grants and what was learnt
-- (store/records.py), quotas and what is left of providers' rates (Store.revise). An empty value is none.
CREATE TABLE records (
    kind TEXT COLLATE "C" NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    version BIGINT GENERATED ALWAYS AS IDENTITY,
    value TEXT NOT NULL,
    PRIMARY KEY (kind, key)
) WITH (fillfactor = 50);

-- What SessionRow holds, in its order, and `state`.
CREATE VIEW session_rows AS
SELECT id, title, model, created, changed, seq,
    CASE WHEN expires > extract(epoch FROM statement_timestamp()) THEN owner ELSE '' END AS held_by, origin, generation,
    key, (SELECT since FROM due WHERE session = key) AS due_at, tenant, place, standing, listed, state
FROM sessions;

-- Policies keep the tenants apart: see store/tenants.py. A transaction sees one tenant once it has set `ullage.tenant`;
-- without that setting it sees all, as workers need it.

-- The tenant of the transaction; empty for all of them.
CREATE FUNCTION current_tenant() RETURNS TEXT LANGUAGE sql STABLE AS
$$ SELECT coalesce(current_setting('ullage.tenant', true), '') $$;

CREATE POLICY of_tenant ON sessions USING (current_tenant() IN ('', tenant));
ALTER TABLE sessions ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

-- `FORCE`: the policies also bind the owner of the tables, as whom servers connect. No policy binds a superuser.
DO $$
DECLARE name TEXT;
BEGIN
    FOREACH name IN ARRAY ARRAY['events', 'queue', 'drafts', 'checkpoints', 'kept', 'due'] LOOP
        EXECUTE format('CREATE POLICY of_tenant ON %1$I USING (current_tenant() = '''' OR EXISTS ('
            'SELECT 1 FROM sessions WHERE key = %1$I.session AND tenant = current_tenant()))', name);
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', name);
    END LOOP;
END $$;

CREATE POLICY of_tenant ON blobs USING (
    current_tenant() = '' OR EXISTS (SELECT 1 FROM kept WHERE blob = blobs.key)
);
ALTER TABLE blobs ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

-- Only transactions of no tenant see them.
CREATE POLICY of_operator ON records USING (current_tenant() = '');
ALTER TABLE records ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

-- One function for each write, so that a write is one round trip. Each gives a code, named in store/postgres/codes.py,
-- with what the caller has to know. The transaction is one statement:
-- `SELECT end_write(writer, number, to_jsonb(append_events(begin_write(session, durable, tenant), …)))`.

CREATE FUNCTION now_s() RETURNS DOUBLE PRECISION LANGUAGE sql VOLATILE AS
$$ SELECT extract(epoch FROM clock_timestamp())::double precision $$;

-- An argument of the function that writes, so that it is called before it. Without sequential scans: `drafts` and `due`
-- are often empty, so a plan that was made then and is kept by the connection would read all of their rows when many
-- sessions stream (an insert of a piece among 4,000 others took 120 us of PostgreSQL's CPU, an index 30). An assignment
-- is evaluated without a plan, unlike PERFORM.
CREATE FUNCTION begin_write(p_session TEXT, p_durable BOOLEAN, p_tenant TEXT) RETURNS TEXT LANGUAGE plpgsql AS $$
DECLARE set_to TEXT;
BEGIN
    set_to := set_config('ullage.tenant', p_tenant, true);
    set_to := set_config('lock_timeout', '10s', true);
    set_to := set_config('enable_seqscan', 'off', true);
    IF NOT p_durable THEN set_to := set_config('synchronous_commit', 'off', true); END IF;
    RETURN p_session;
END $$;

CREATE FUNCTION end_write(p_writer TEXT, p_number BIGINT, p_answer JSONB) RETURNS JSONB LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO writers (name, number, at, answer) VALUES (p_writer, p_number, now_s(), p_answer)
    ON CONFLICT (name) DO UPDATE SET number = excluded.number, at = excluded.at, answer = excluded.answer
    WHERE writers.number < excluded.number;
    IF NOT FOUND THEN RAISE EXCEPTION 'the write % of % was given up', p_number, p_writer; END IF;
    RETURN p_answer;
END $$;

-- Whether a transaction was committed whose connection was lost; if not, it never will be: a server that still has its
-- statement before it meets the number `p_next` in `end_write`. Waits for it where it is under way.
CREATE FUNCTION settle_write(p_writer TEXT, p_number BIGINT, p_next BIGINT, OUT is_done BOOLEAN, OUT answer JSONB)
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO writers (name, number, at) VALUES (p_writer, p_next, now_s())
    ON CONFLICT (name) DO UPDATE SET number = excluded.number, at = excluded.at, answer = NULL
    WHERE writers.number <> p_number;
    is_done := NOT FOUND;
    IF is_done THEN SELECT writers.answer INTO answer FROM writers WHERE name = p_writer; END IF;
END $$;

-- The process that stores a message or command has this long to drive the session alone: ASKED_S of store/store.py.
-- What waits for a later time, as a session that waits for another day does, is due from now on.
CREATE FUNCTION make_due(p_key BIGINT) RETURNS VOID LANGUAGE sql AS $$
    INSERT INTO due (session, since) VALUES (p_key, now_s() + 1)
    ON CONFLICT (session) DO UPDATE SET since = excluded.since WHERE due.since > excluded.since
$$;

CREATE FUNCTION place_of(p_key BIGINT, p_kind TEXT, p_queued BIGINT) RETURNS BIGINT LANGUAGE sql STABLE AS $$
    SELECT 1 + count(*) FROM queue WHERE session = p_key AND state = 'pending'
        AND (kind > p_kind OR (kind = p_kind AND queued < p_queued))
$$;

-- The waiting messages after one event. Raises UL001 with the message's state where it is not the right one.
CREATE FUNCTION follow_queue(
    p_key BIGINT, p_seq BIGINT, p_at DOUBLE PRECISION, p_what TEXT, p_message TEXT, p_kind TEXT, p_strict BOOLEAN
) RETURNS VOID LANGUAGE plpgsql AS $$
DECLARE found_state TEXT;
BEGIN
    IF p_what = 'queued' THEN
        INSERT INTO queue (session, message, kind, state, queued, seq, at)
        VALUES (p_key, p_message, p_kind, 'pending', p_seq, p_seq, p_at) ON CONFLICT (session, message) DO NOTHING;
    ELSIF p_what = 'edited' THEN
        UPDATE queue SET seq = p_seq WHERE session = p_key AND message = p_message AND state = 'pending';
    ELSE
        UPDATE queue SET state = p_what, left_at = p_seq
        WHERE session = p_key AND message = p_message AND state = 'pending';
    END IF;
    IF NOT FOUND AND p_strict THEN
        SELECT state INTO found_state FROM queue WHERE session = p_key AND message = p_message;
        RAISE EXCEPTION USING ERRCODE = 'UL001', MESSAGE = p_message, DETAIL = p_what, HINT = coalesce(found_state, '');
    END IF;
END $$;

-- `p_owner` is null for a command, which needs no lease. `p_standing`, null where it stays the same, was made of
-- `p_from` for a ledger of `p_base` events: where the row has another one, nothing is written. `p_title` is the title if the session has none,
-- `p_new_title` replaces any. `p_whats` is null where no event concerns the queue, else one for each event.
CREATE FUNCTION append_events(
    p_session TEXT, p_owner TEXT, p_generation BIGINT, p_after BIGINT, p_exact BOOLEAN,
    p_names TEXT[], p_ats DOUBLE PRECISION[], p_bodies BYTEA[],
    p_title TEXT, p_new_title TEXT, p_model TEXT, p_origin TEXT, p_ends_draft TEXT,
    p_whats TEXT[], p_messages TEXT[], p_kinds TEXT[], p_strict BOOLEAN,
    p_from TEXT, p_base BIGINT, p_standing TEXT, p_state TEXT,
    OUT code INT, OUT seq BIGINT, OUT at DOUBLE PRECISION, OUT owner TEXT, OUT message TEXT, OUT what TEXT, OUT state TEXT,
    OUT standing TEXT
) LANGUAGE plpgsql AS $$
DECLARE head sessions; many INT := coalesce(cardinality(p_bodies), 0);
BEGIN
    SELECT * INTO head FROM sessions WHERE id = p_session FOR NO KEY UPDATE;
    IF NOT FOUND THEN code := 1; RETURN; END IF;
    seq := head.seq; owner := head.owner; at := round(now_s()::numeric, 3);
    IF head.owner <> p_owner OR head.generation <> p_generation THEN code := 2; RETURN; END IF;
    IF p_after > head.seq THEN code := 4; RETURN; END IF;
    IF p_exact AND p_after < head.seq THEN code := 3; RETURN; END IF;
    IF head.standing <> p_from OR (p_standing IS NOT NULL AND head.seq <> p_base) THEN
        code := 11; standing := head.standing; RETURN;
    END IF;
    code := 0;
    IF p_owner IS NULL AND p_strict THEN PERFORM make_due(head.key); END IF;
    IF p_whats IS NOT NULL THEN
        BEGIN
            FOR n IN 1 .. many LOOP
                IF p_whats[n] IS NOT NULL THEN
                    PERFORM follow_queue(head.key, head.seq + n, coalesce(nullif(p_ats[n], 0), append_events.at),
                        p_whats[n], p_messages[n], p_kinds[n], p_strict);
                END IF;
            END LOOP;
        EXCEPTION WHEN SQLSTATE 'UL001' THEN
            GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, what = PG_EXCEPTION_DETAIL, state = PG_EXCEPTION_HINT;
            code := 5; RETURN;
        END;
    END IF;
    IF many > 0 THEN
        INSERT INTO events (session, seq, name, at, body)
        SELECT head.key, head.seq + n, name, coalesce(nullif(given, 0), append_events.at), body
        FROM unnest(p_names, p_ats, p_bodies) WITH ORDINALITY AS new (name, given, body, n);
        UPDATE sessions SET seq = head.seq + many, changed = append_events.at,
            title = coalesce(nullif(p_new_title, ''), nullif(head.title, ''), p_title),
            model = coalesce(nullif(p_model, ''), head.model), origin = coalesce(nullif(p_origin, ''), head.origin),
            standing = coalesce(p_standing, head.standing), state = p_state,
            listed = CASE WHEN p_owner IS NULL OR p_state IS DISTINCT FROM head.state OR append_events.at > head.listed + 60
                THEN append_events.at ELSE head.listed END
        WHERE key = head.key;
    END IF;
    IF p_ends_draft <> '' THEN DELETE FROM drafts WHERE session = head.key AND call = p_ends_draft; END IF;
END $$;

-- The body holds the message's place, so the caller names the one that it wrote; with another one nothing is written.
CREATE FUNCTION send_message(
    p_session TEXT, p_message TEXT, p_kind TEXT, p_place BIGINT, p_body BYTEA, p_title TEXT,
    OUT code INT, OUT place BIGINT, OUT at DOUBLE PRECISION, OUT state TEXT, OUT seq BIGINT
) LANGUAGE plpgsql AS $$
DECLARE head sessions; had queue;
BEGIN
    SELECT * INTO head FROM sessions WHERE id = p_session FOR NO KEY UPDATE;
    IF NOT FOUND THEN code := 1; RETURN; END IF;
    SELECT * INTO had FROM queue WHERE session = head.key AND message = p_message;
    IF FOUND THEN
        code := 6; at := had.at; state := had.state;
        place := CASE WHEN had.state = 'pending' THEN place_of(head.key, had.kind, had.queued) ELSE 0 END;
        RETURN;
    END IF;
    seq := head.seq + 1;
    place := place_of(head.key, p_kind, seq);
    IF place <> p_place THEN code := 7; RETURN; END IF;
    code := 0; at := round(now_s()::numeric, 3); state := 'pending';
    INSERT INTO events (session, seq, name, at, body) VALUES (head.key, send_message.seq, NULL, send_message.at, p_body);
    INSERT INTO queue (session, message, kind, state, queued, seq, at)
    VALUES (head.key, p_message, p_kind, 'pending', send_message.seq, send_message.seq, send_message.at);
    UPDATE sessions SET seq = send_message.seq, changed = send_message.at, listed = send_message.at,
        title = coalesce(nullif(head.title, ''), p_title) WHERE key = head.key;
    PERFORM make_due(head.key);
END $$;

-- Only at the end of the call's pieces: what a crash lost is written again. Its first ones need the event before them.
CREATE FUNCTION add_pieces(
    p_session TEXT, p_owner TEXT, p_generation BIGINT, p_after BIGINT, p_at DOUBLE PRECISION,
    p_call TEXT, p_first BIGINT, p_last BIGINT, p_body BYTEA,
    OUT code INT, OUT seq BIGINT, OUT owner TEXT, OUT next BIGINT
) LANGUAGE plpgsql AS $$
DECLARE head sessions;
BEGIN
    SELECT * INTO head FROM sessions WHERE id = p_session FOR NO KEY UPDATE;
    IF NOT FOUND THEN code := 1; RETURN; END IF;
    seq := head.seq; owner := head.owner;
    IF head.owner <> p_owner OR head.generation <> p_generation THEN code := 2; RETURN; END IF;
    next := coalesce((SELECT d.last + 1 FROM drafts d WHERE d.session = head.key AND d.call = p_call
        ORDER BY d.first DESC LIMIT 1), 0);
    IF next = 0 AND p_at > 0 AND NOT EXISTS (
        SELECT FROM events e WHERE e.session = head.key AND e.seq = p_after AND e.at = p_at
    ) THEN code := 4; RETURN; END IF;
    code := 0;
    IF next = p_first THEN
        INSERT INTO drafts (session, call, first, last, seq, body)
        VALUES (head.key, p_call, p_first, p_last, head.seq, p_body);
        next := p_last + 1;
    END IF;
END $$;

-- One head (what = 0), then the events behind `p_after` (1), then, when these are all, the drafts from `p_row` on (2), or
-- all of them where that row is gone: after a crash rows may have the numbers of lost ones, and `p_row` other pieces.
-- STABLE, so that all is read of one moment.
CREATE FUNCTION look(p_session TEXT, p_after BIGINT, p_row BIGINT, p_limit BIGINT)
RETURNS TABLE (what INT, number BIGINT, name TEXT, at DOUBLE PRECISION, first BIGINT, seq BIGINT, body BYTEA)
LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
DECLARE head sessions;
BEGIN
    SELECT * INTO head FROM sessions WHERE id = p_session;
    IF NOT FOUND THEN RETURN; END IF;
    what := 0; number := head.seq; RETURN NEXT;
    RETURN QUERY SELECT 1, e.seq, e.name, e.at, 0::bigint, e.seq, e.body FROM events e
        WHERE e.session = head.key AND e.seq > p_after ORDER BY e.seq LIMIT p_limit;
    IF head.seq - p_after < p_limit THEN
        RETURN QUERY SELECT 2, d.id, d.call, 0::float8, d.first, d.seq, d.body FROM drafts d
            WHERE d.session = head.key AND d.id >= coalesce((
                SELECT last_read.id FROM drafts last_read WHERE last_read.session = head.key AND last_read.id = p_row
            ), 0) ORDER BY d.id;
    END IF;
END $$;

-- The words of events behind `p_after`, up to which the caller found the session indexed; each text has words between
-- blanks. Nothing where another one has indexed more meanwhile.
CREATE FUNCTION add_texts(p_session TEXT, p_after BIGINT, p_prefix TEXT, p_seqs BIGINT[], p_texts TEXT[], OUT code INT)
LANGUAGE plpgsql AS $$
DECLARE of_session BIGINT;
BEGIN
    code := 0;
    SELECT key INTO of_session FROM sessions WHERE id = p_session FOR NO KEY UPDATE;
    IF FOUND AND NOT EXISTS (SELECT 1 FROM texts WHERE session = of_session AND seq > p_after) THEN
        INSERT INTO texts (number, session, seq, words)
        SELECT number, of_session, found.seq, array_to_tsvector(ARRAY(
            SELECT p_prefix || (number >> 14) || ':' || word FROM string_to_table(found.words, ' ') AS word
        )) FROM (
            SELECT nextval('texts_number') AS number, * FROM unnest(p_seqs, p_texts) AS given (seq, words) OFFSET 0
        ) found;
    END IF;
END $$;

-- Goes through one volume of the index after the other, the newest first. `~` in the query is the volume's place.
CREATE FUNCTION find_texts(p_query TEXT, p_before BIGINT, p_limit BIGINT)
RETURNS TABLE (number BIGINT, id TEXT, seq BIGINT) LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
DECLARE rest BIGINT := p_limit; many BIGINT; newest BIGINT;
BEGIN
    SELECT least(coalesce(max(texts.number), 0), p_before) >> 14 INTO newest FROM texts;
    FOR volume IN REVERSE newest .. 0 LOOP
        RETURN QUERY SELECT texts.number, sessions.id, texts.seq FROM texts JOIN sessions ON key = session
        WHERE words @@ replace(p_query, '~', volume || ':')::tsquery AND texts.number < p_before
            AND texts.number >= volume::bigint << 14 AND texts.number < (volume + 1)::bigint << 14
        ORDER BY texts.number DESC LIMIT rest;
        GET DIAGNOSTICS many = ROW_COUNT;
        rest := rest - many;
        EXIT WHEN rest = 0;
    END LOOP;
END $$;

-- A list is read from the end of an index, however many sessions there are: without sorts, which PostgreSQL thinks
-- faster among some thousand sessions.
CREATE FUNCTION list_sessions(
    p_listed DOUBLE PRECISION, p_key BIGINT, p_limit BIGINT, p_tenant TEXT, p_states TEXT[]
) RETURNS SETOF session_rows LANGUAGE plpgsql STABLE SET enable_sort = off AS $$
BEGIN
    RETURN QUERY EXECUTE format(
        'SELECT * FROM session_rows WHERE (%1$s, key) < ($1, $2) %2$s %3$s ORDER BY %1$s DESC, key DESC LIMIT $3',
        CASE WHEN p_tenant = '' THEN 'listed + 0' ELSE 'listed' END,
        CASE WHEN p_tenant = '' THEN '' ELSE 'AND tenant = $4' END,
        CASE WHEN p_states = '{}' THEN '' ELSE 'AND state = ANY ($5) AND state IS NOT NULL' END
    ) USING p_listed, p_key, p_limit, p_tenant, p_states;
END $$;

CREATE FUNCTION create_session(
    p_session TEXT, p_created DOUBLE PRECISION, p_origin TEXT, p_tenant TEXT, p_place TEXT, OUT code INT
) LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO sessions (id, title, model, created, changed, listed, origin, tenant, place)
    SELECT p_session, '', '', round(coalesce(nullif(p_created, 0), now)::numeric, 3), now, now, p_origin, p_tenant, p_place
    FROM (SELECT round(now_s()::numeric, 3)::float8 AS now) clock ON CONFLICT (id) DO NOTHING;
    code := CASE WHEN FOUND THEN 0 ELSE 9 END;
END $$;

-- What a session keeps is kept by another as well; whether there is such a session.
CREATE FUNCTION keep_as(p_session TEXT, p_origin TEXT) RETURNS BOOLEAN LANGUAGE plpgsql AS $$
DECLARE source BIGINT;
BEGIN
    SELECT key INTO source FROM sessions WHERE id = p_origin FOR KEY SHARE;  -- not deleted meanwhile
    IF NOT FOUND THEN RETURN false; END IF;
    INSERT INTO kept (session, blob) SELECT target.key, blob FROM kept, sessions target
    WHERE kept.session = source AND target.id = p_session;
    RETURN true;
END $$;

-- `p_dead` is an owner of whom the caller knows that it ended; `p_changed` null, or the time before which it changed.
CREATE FUNCTION delete_session(
    p_session TEXT, p_dead TEXT, p_changed DOUBLE PRECISION, OUT code INT, OUT owner TEXT, OUT expires DOUBLE PRECISION
) LANGUAGE plpgsql AS $$
DECLARE head sessions; orphans BIGINT[]; whose TEXT := current_tenant();
BEGIN
    SELECT * INTO head FROM sessions WHERE id = p_session FOR UPDATE;
    IF NOT FOUND OR head.changed >= p_changed THEN code := 1; RETURN; END IF;
    IF head.owner NOT IN ('', p_dead) AND head.expires > now_s() THEN
        code := 10; owner := head.owner; expires := head.expires; RETURN;
    END IF;
    code := 0;
    PERFORM set_config('ullage.tenant', '', true);
    DELETE FROM queue WHERE session = head.key;
    DELETE FROM drafts WHERE session = head.key;
    DELETE FROM checkpoints WHERE session = head.key;
    WITH gone AS (DELETE FROM kept WHERE session = head.key RETURNING blob) SELECT array_agg(blob) INTO orphans FROM gone;
    DELETE FROM blobs WHERE key = ANY (orphans) AND NOT EXISTS (SELECT 1 FROM kept WHERE blob = blobs.key);
    DELETE FROM events WHERE session = head.key;
    DELETE FROM texts WHERE session = head.key;
    DELETE FROM sessions WHERE key = head.key;
    PERFORM set_config('ullage.tenant', whose, true);
END $$;

-- Also gives the driver that the session is taken over from: empty where the last one released it.
CREATE FUNCTION acquire_session(
    p_session TEXT, p_owner TEXT, p_ttl DOUBLE PRECISION, p_dead TEXT,
    OUT code INT, OUT generation BIGINT, OUT owner TEXT, OUT expires DOUBLE PRECISION, OUT standing TEXT
) LANGUAGE plpgsql AS $$
DECLARE head sessions;
BEGIN
    SELECT * INTO head FROM sessions WHERE id = p_session FOR NO KEY UPDATE;
    IF NOT FOUND THEN code := 1; RETURN; END IF;
    owner := head.owner; expires := head.expires; standing := head.standing;
    IF head.owner NOT IN ('', p_owner, p_dead) AND head.expires > now_s() THEN
        code := 10; RETURN;
    END IF;
    code := 0; generation := head.generation + 1; owner := nullif(head.owner, p_owner);
    UPDATE sessions SET owner = p_owner, generation = acquire_session.generation, expires = now_s() + p_ttl
    WHERE key = head.key;
END $$;

CREATE FUNCTION renew_lease(
    p_session TEXT, p_owner TEXT, p_generation BIGINT, p_ttl DOUBLE PRECISION, OUT code INT, OUT owner TEXT
) LANGUAGE plpgsql AS $$
DECLARE head sessions;
BEGIN
    SELECT * INTO head FROM sessions WHERE id = p_session FOR NO KEY UPDATE;
    IF NOT FOUND THEN code := 1; RETURN; END IF;
    owner := head.owner;
    IF head.owner <> p_owner OR head.generation <> p_generation THEN code := 2; RETURN; END IF;
    code := 0;
    UPDATE sessions SET expires = now_s() + p_ttl WHERE key = head.key;
END $$;

-- A session that was released at its last event is not due any more, or with a time from then on.
CREATE FUNCTION release_lease(
    p_session TEXT, p_owner TEXT, p_generation BIGINT, p_rests_at BIGINT, p_due_at DOUBLE PRECISION, OUT code INT
) LANGUAGE plpgsql AS $$
BEGIN
    IF p_due_at IS NULL THEN
        DELETE FROM due USING sessions WHERE due.session = key AND id = p_session AND owner = p_owner
            AND generation = p_generation AND seq = p_rests_at;
    ELSE
        INSERT INTO due (session, since) SELECT key, p_due_at FROM sessions
        WHERE id = p_session AND owner = p_owner AND generation = p_generation AND seq = p_rests_at
        ON CONFLICT (session) DO UPDATE SET since = excluded.since;
    END IF;
    UPDATE sessions SET owner = '', expires = 0, listed = greatest(listed, changed)
    WHERE id = p_session AND owner = p_owner AND generation = p_generation;
    code := CASE WHEN FOUND THEN 0 ELSE 2 END;
END $$;

CREATE FUNCTION keep_checkpoint(
    p_session TEXT, p_owner TEXT, p_generation BIGINT, p_seq BIGINT, p_made_by TEXT, p_packed BOOLEAN, p_data BYTEA,
    OUT code INT, OUT owner TEXT
) LANGUAGE plpgsql AS $$
DECLARE head sessions;
BEGIN
    SELECT * INTO head FROM sessions WHERE id = p_session FOR NO KEY UPDATE;
    IF NOT FOUND THEN code := 1; RETURN; END IF;
    owner := head.owner;
    IF head.owner <> p_owner OR head.generation <> p_generation THEN code := 2; RETURN; END IF;
    code := 0;
    INSERT INTO checkpoints (session, seq, made_by, is_packed, data)
    VALUES (head.key, p_seq, p_made_by, p_packed, p_data)
    ON CONFLICT (session) DO UPDATE SET seq = excluded.seq, made_by = excluded.made_by,
        is_packed = excluded.is_packed, data = excluded.data;
END $$;

-- Equal bytes are one row for all tenants, so the session is looked up as the transaction's tenant, and the bytes as
-- nobody's in particular.
CREATE FUNCTION keep_bytes(p_session TEXT, p_handle TEXT, p_data BYTEA, OUT code INT) LANGUAGE plpgsql AS $$
DECLARE of_session BIGINT; of_blob BIGINT; whose TEXT := current_tenant();
BEGIN
    SELECT key INTO of_session FROM sessions WHERE id = p_session FOR NO KEY UPDATE;
    IF NOT FOUND THEN code := 1; RETURN; END IF;
    code := 0;
    PERFORM set_config('ullage.tenant', '', true);
    -- the update locks the row, so that it is not deleted as another session's last one meanwhile
    INSERT INTO blobs (handle, data) VALUES (p_handle, p_data)
    ON CONFLICT (handle) DO UPDATE SET handle = excluded.handle RETURNING key INTO of_blob;
    INSERT INTO kept (session, blob) VALUES (of_session, of_blob) ON CONFLICT DO NOTHING;
    PERFORM set_config('ullage.tenant', whose, true);
END $$;
