-- What a service knows beside its sessions: see store/records.py. Only transactions of no tenant see it.
-- oldest: 2

CREATE TABLE records (
    kind TEXT COLLATE "C" NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    version BIGINT GENERATED ALWAYS AS IDENTITY,
    body BYTEA NOT NULL,
    PRIMARY KEY (kind, key)
);
CREATE POLICY of_operator ON records USING (current_tenant() = '');
ALTER TABLE records ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

DROP TABLE learnt;  -- no version used it

-- Replaces a record that is `p_old` (null: there is none) by `p_new` (null: none). 0: done; 11: it is another one;
-- 12: there are `p_most` of the kind.
CREATE FUNCTION change_record(p_kind TEXT, p_key TEXT, p_old BYTEA, p_new BYTEA, p_most BIGINT, OUT code INT)
LANGUAGE plpgsql AS $$
BEGIN
    IF p_old IS NULL THEN
        IF (SELECT count(*) FROM records WHERE kind = p_kind) >= p_most THEN code := 12; RETURN; END IF;
        INSERT INTO records (kind, key, body) VALUES (p_kind, p_key, p_new) ON CONFLICT (kind, key) DO NOTHING;
    ELSIF p_new IS NULL THEN
        DELETE FROM records WHERE kind = p_kind AND key = p_key AND body = p_old;
    ELSE
        UPDATE records SET body = p_new, version = DEFAULT WHERE kind = p_kind AND key = p_key AND body = p_old;
    END IF;
    code := CASE WHEN FOUND THEN 0 ELSE 11 END;
END $$;
