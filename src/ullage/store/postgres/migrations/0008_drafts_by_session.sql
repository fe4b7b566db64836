-- The newest draft row of a session is found by its session: without it each look at a session read the rows of all the
-- others that stream (1,000 streams: 189 ms of PostgreSQL's CPU a turn of 100 pieces, bench.many).
-- oldest: 2

ALTER TABLE drafts DROP CONSTRAINT drafts_pkey, ADD PRIMARY KEY (session, id);
