-- The pieces of many sessions in one statement; and writes whose plans do not depend on how small a table once was.
-- oldest: 2

-- As before, and without sequential scans: `drafts` and `due` are often empty, so a plan that was made then and is kept
-- by the connection would read all of their rows when many sessions stream (an insert of a piece among 4,000 others took
-- 120 us of PostgreSQL's CPU, an index 30). An assignment is evaluated without a plan, unlike PERFORM.
CREATE OR REPLACE FUNCTION begin_write(p_session TEXT, p_durable BOOLEAN) RETURNS TEXT LANGUAGE plpgsql AS $$
DECLARE set_to TEXT;
BEGIN
    set_to := set_config('lock_timeout', '10s', true);
    set_to := set_config('enable_seqscan', 'off', true);
    IF NOT p_durable THEN set_to := set_config('synchronous_commit', 'off', true); END IF;
    RETURN p_session;
END $$;

CREATE OR REPLACE FUNCTION begin_write(p_session TEXT, p_durable BOOLEAN, p_tenant TEXT)
RETURNS TEXT LANGUAGE plpgsql AS $$
DECLARE set_to TEXT;
BEGIN
    set_to := set_config('ullage.tenant', p_tenant, true);
    RETURN begin_write(p_session, p_durable);
END $$;

CREATE OR REPLACE FUNCTION begin_writes(p_sessions TEXT[], p_durable BOOLEAN, p_lane TEXT, p_number BIGINT)
RETURNS VOID LANGUAGE plpgsql AS $$
DECLARE set_to TEXT;
BEGIN
    set_to := begin_write('', p_durable);
    set_to := set_config('idle_in_transaction_session_timeout', '20s', true);
    PERFORM 1 FROM sessions WHERE id = ANY (p_sessions) ORDER BY id FOR NO KEY UPDATE;
    INSERT INTO lanes (lane, number, at) VALUES (p_lane, p_number, now_s())
    ON CONFLICT (lane) DO UPDATE SET number = excluded.number, at = excluded.at;
END $$;

ALTER FUNCTION look(TEXT, BIGINT, BIGINT, BIGINT) SET enable_seqscan = off;

-- As before, but a used offset is found by the insert.
CREATE OR REPLACE FUNCTION add_pieces(
    p_session TEXT, p_owner TEXT, p_generation BIGINT, p_calls TEXT[], p_first BIGINT[], p_last BIGINT[], p_bodies BYTEA[],
    OUT code INT, OUT seq BIGINT, OUT owner TEXT
) LANGUAGE plpgsql AS $$
DECLARE head sessions; stored BIGINT[];
BEGIN
    SELECT * INTO head FROM sessions WHERE id = p_session FOR NO KEY UPDATE;
    IF NOT FOUND THEN code := 1; RETURN; END IF;
    seq := head.seq; owner := head.owner;
    IF head.owner <> p_owner OR head.generation <> p_generation THEN code := 2; RETURN; END IF;
    code := 0;
    WITH new AS (
        INSERT INTO drafts (session, call, first, last, seq, body)
        SELECT head.key, c, f, l, head.seq, b FROM unnest(p_calls, p_first, p_last, p_bodies) AS n (c, f, l, b)
        ON CONFLICT (session, call, first) DO NOTHING RETURNING id
    ) SELECT coalesce(array_agg(id), '{}') INTO stored FROM new;
    IF cardinality(stored) < cardinality(p_calls) THEN
        code := 8;
        DELETE FROM drafts WHERE session = head.key AND id = ANY (stored);
    END IF;
END $$;

-- A whole transaction: what `add_pieces` does for each of several writes, which `p_writes` numbers from 1 for each row.
-- Fails as a whole where an offset is used. Gives and keeps an array of answers.
CREATE FUNCTION add_pieces_together(
    p_lane TEXT, p_number BIGINT, p_tenant TEXT, p_sessions TEXT[], p_owners TEXT[], p_generations BIGINT[],
    p_writes BIGINT[], p_calls TEXT[], p_first BIGINT[], p_last BIGINT[], p_bodies BYTEA[]
) RETURNS JSONB LANGUAGE plpgsql AS $$
DECLARE answers JSONB; set_to TEXT;
BEGIN
    set_to := begin_write('', false, p_tenant);
    WITH head AS MATERIALIZED (
        SELECT * FROM sessions WHERE id = ANY (p_sessions) ORDER BY id FOR NO KEY UPDATE
    ), asked AS MATERIALIZED (
        SELECT number, head.key, head.seq, head.owner, CASE WHEN head.key IS NULL THEN 1
            WHEN head.owner <> as_owner OR head.generation <> in_generation THEN 2 ELSE 0 END AS code
        FROM unnest(p_sessions, p_owners, p_generations) WITH ORDINALITY AS w (session, as_owner, in_generation, number)
        LEFT JOIN head ON head.id = w.session
    ), new AS (
        INSERT INTO drafts (session, call, first, last, seq, body)
        SELECT key, c, f, l, seq, b FROM unnest(p_writes, p_calls, p_first, p_last, p_bodies) AS n (write, c, f, l, b)
        JOIN asked ON number = write WHERE code = 0
    )
    SELECT jsonb_agg(jsonb_build_object('code', code, 'seq', seq, 'owner', owner) ORDER BY number) INTO answers FROM asked;
    RETURN end_write(p_lane, p_number, answers);
END $$;
