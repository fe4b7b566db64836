-- A write that is alone in its transaction is one statement, so one round trip:
-- `SELECT end_write(lane, number, to_jsonb(append_events(begin_write(session, durable), …)))`.
-- oldest: 2

-- What the write answered, for a connection that was lost between the commit and the answer.
ALTER TABLE lanes ADD answer JSONB;

-- An argument of the function that writes, so that it is called before it. The lock's limit is that of `begin_writes`.
CREATE FUNCTION begin_write(p_session TEXT, p_durable BOOLEAN) RETURNS TEXT LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('lock_timeout', '10s', true);
    IF NOT p_durable THEN PERFORM set_config('synchronous_commit', 'off', true); END IF;
    RETURN p_session;
END $$;

CREATE FUNCTION end_write(p_lane TEXT, p_number BIGINT, p_answer JSONB) RETURNS JSONB LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO lanes (lane, number, at, answer) VALUES (p_lane, p_number, now_s(), p_answer)
    ON CONFLICT (lane) DO UPDATE SET number = excluded.number, at = excluded.at, answer = excluded.answer
    WHERE lanes.number < excluded.number;
    IF NOT FOUND THEN RAISE EXCEPTION 'the write % of % was given up', p_number, p_lane; END IF;
    RETURN p_answer;
END $$;

-- Whether a transaction was committed whose connection was lost; if not, it never will be: a server that still has its
-- statement before it meets the number in `end_write`. Waits for it where it is under way.
CREATE FUNCTION settle_write(p_lane TEXT, p_number BIGINT, OUT is_done BOOLEAN, OUT answer JSONB) LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO lanes (lane, number, at) VALUES (p_lane, p_number, now_s())
    ON CONFLICT (lane) DO UPDATE SET number = excluded.number, at = excluded.at, answer = NULL
    WHERE lanes.number < excluded.number;
    is_done := NOT FOUND;
    IF is_done THEN SELECT lanes.answer INTO answer FROM lanes WHERE lane = p_lane; END IF;
END $$;
