-- Whose a session is, and where its files are: see store/tenants.py and docs/scale.md.
ALTER TABLE sessions ADD COLUMN tenant TEXT NOT NULL DEFAULT 'default';
ALTER TABLE sessions ADD COLUMN place TEXT NOT NULL DEFAULT '';
