-- `acquire_session` also gives the driver that the session is taken over from: empty where the last one released it.
-- oldest: 2

CREATE OR REPLACE FUNCTION acquire_session(
    p_session TEXT, p_owner TEXT, p_ttl DOUBLE PRECISION, p_dead TEXT, p_steal BOOLEAN,
    OUT code INT, OUT generation BIGINT, OUT owner TEXT, OUT expires DOUBLE PRECISION
) LANGUAGE plpgsql AS $$
DECLARE head sessions;
BEGIN
    SELECT * INTO head FROM sessions WHERE id = p_session FOR NO KEY UPDATE;
    IF NOT FOUND THEN code := 1; RETURN; END IF;
    owner := head.owner; expires := head.expires;
    IF head.owner NOT IN ('', p_owner, p_dead) AND head.expires > now_s() AND NOT p_steal THEN
        code := 10; RETURN;
    END IF;
    code := 0; generation := head.generation + 1; owner := nullif(head.owner, p_owner);
    UPDATE sessions SET owner = p_owner, generation = acquire_session.generation, expires = now_s() + p_ttl
    WHERE key = head.key;
END $$;
