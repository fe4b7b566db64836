-- Values that all processes of the store share, as JSON: quotas, and what is left of providers' rates. See Store.revise.
CREATE TABLE shared (
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (kind, name)
) WITHOUT ROWID;
