-- Values that all processes of the store share, as JSON: quotas, and what is left of providers' rates (Store.revise). A
-- session that waits for another day is due from a later time on.
-- oldest: 2

CREATE TABLE shared (
    kind TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (kind, name)
) WITH (fillfactor = 50);

-- A transaction of a tenant has no business here.
CREATE POLICY of_no_tenant ON shared USING (current_tenant() = '');
ALTER TABLE shared ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

-- As before; what waits for a later time is due from now on.
CREATE OR REPLACE FUNCTION make_due(p_key BIGINT) RETURNS VOID LANGUAGE sql AS $$
    INSERT INTO due (session, since) VALUES (p_key, now_s() + 1)
    ON CONFLICT (session) DO UPDATE SET since = excluded.since WHERE due.since > excluded.since
$$;

-- As before. With a time, a session that was released at its last event is due again from then on.
CREATE FUNCTION release_lease(
    p_session TEXT, p_owner TEXT, p_generation BIGINT, p_rests_at BIGINT, p_due_at DOUBLE PRECISION, OUT code INT
) LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO due (session, since) SELECT key, p_due_at FROM sessions
    WHERE id = p_session AND owner = p_owner AND generation = p_generation AND seq = p_rests_at
    ON CONFLICT (session) DO UPDATE SET since = excluded.since;
    SELECT r.code INTO code FROM release_lease(p_session, p_owner, p_generation, NULL::bigint) r;
END $$;
