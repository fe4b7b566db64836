-- Whose store it is: see store/ownership.py. One row.
CREATE TABLE mark (
    value BLOB NOT NULL
);
