-- Whose store it is: see store/sqlite/ownership.py. One row.
CREATE TABLE mark (
    value BLOB NOT NULL
);
