-- Whose a session is, where its files are, and policies that keep the tenants apart: see store/tenants.py and
-- docs/scale.md. A transaction sees one tenant once it has set `ullage.tenant`; without that setting it sees all, as
-- workers need it and older servers expect it.
-- oldest: 2

ALTER TABLE sessions
    ADD tenant TEXT COLLATE "C" NOT NULL DEFAULT 'default',
    ADD place TEXT COLLATE "C" NOT NULL DEFAULT '';

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

CREATE FUNCTION begin_write(p_session TEXT, p_durable BOOLEAN, p_tenant TEXT) RETURNS TEXT LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('ullage.tenant', p_tenant, true);
    RETURN begin_write(p_session, p_durable);
END $$;

CREATE FUNCTION create_session(
    p_session TEXT, p_created DOUBLE PRECISION, p_origin TEXT, p_tenant TEXT, p_place TEXT, OUT code INT
) LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO sessions (id, title, model, created, changed, origin, tenant, place)
    VALUES (p_session, '', '', round(coalesce(nullif(p_created, 0), now_s())::numeric, 3),
        round(now_s()::numeric, 3), p_origin, p_tenant, p_place) ON CONFLICT (id) DO NOTHING;
    code := CASE WHEN FOUND THEN 0 ELSE 9 END;
END $$;

-- As before; the copy belongs to its origin's tenant and place.
CREATE OR REPLACE FUNCTION copy_session(
    p_origin TEXT, p_session TEXT, p_through BIGINT, OUT code INT, OUT seq BIGINT, OUT waiting TEXT[]
) LANGUAGE plpgsql AS $$
DECLARE source sessions; target BIGINT; begun DOUBLE PRECISION;
BEGIN
    SELECT * INTO source FROM sessions WHERE id = p_origin;
    IF NOT FOUND THEN code := 1; RETURN; END IF;
    seq := source.seq;
    IF p_through < 0 OR p_through > source.seq THEN code := 4; RETURN; END IF;
    SELECT e.at INTO begun FROM events e WHERE e.session = source.key AND e.seq = 1;
    SELECT c.code INTO code
    FROM create_session(p_session, coalesce(begun, 0), p_origin, source.tenant, source.place) c;
    IF code <> 0 THEN RETURN; END IF;
    UPDATE sessions SET seq = p_through, title = source.title, model = source.model WHERE id = p_session
    RETURNING key INTO target;
    INSERT INTO events (session, seq, name, at, body)
    SELECT target, e.seq, e.name, e.at, e.body FROM events e WHERE e.session = source.key AND e.seq <= p_through;
    INSERT INTO kept (session, blob) SELECT target, blob FROM kept WHERE session = source.key;
    INSERT INTO queue (session, message, kind, state, queued, seq, left_at, at)
    SELECT target, q.message, q.kind, CASE WHEN q.left_at <= p_through THEN q.state ELSE 'pending' END, q.queued,
        CASE WHEN q.seq <= p_through THEN q.seq ELSE q.queued END,
        CASE WHEN q.left_at <= p_through THEN q.left_at END, q.at
    FROM queue q WHERE q.session = source.key AND q.queued <= p_through;
    waiting := ARRAY(SELECT q.message FROM queue q WHERE q.session = target AND q.state = 'pending'
        ORDER BY q.kind DESC, q.queued);
END $$;

-- As before. Equal bytes are one row for all tenants, so the session is looked up as the transaction's tenant, and the
-- bytes as nobody's in particular.
CREATE OR REPLACE FUNCTION keep_bytes(p_session TEXT, p_handle TEXT, p_data BYTEA, OUT code INT) LANGUAGE plpgsql AS $$
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

CREATE OR REPLACE FUNCTION delete_session(
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
    DELETE FROM sessions WHERE key = head.key;
    PERFORM set_config('ullage.tenant', whose, true);
END $$;
