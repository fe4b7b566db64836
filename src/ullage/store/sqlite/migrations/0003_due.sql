-- Sessions that have to be driven: from a message or command until a driver releases them at rest. Before `since`, the
-- process that stored the message or command drives them: see Store.unattended.
CREATE TABLE due (
    session INTEGER PRIMARY KEY REFERENCES sessions (key),
    since REAL NOT NULL
);

-- In an older store a session is due if a driver of this store left its turn open, or if messages wait and no turn is
-- open. The last of its last 32 events that begins, pauses or ends a turn tells; if none does, a driver looks.
INSERT INTO due (session, since)
SELECT key, 0 FROM (
    SELECT key, generation,
        EXISTS (SELECT 1 FROM queue WHERE session = sessions.key AND state = 'pending') AS waits,
        (
            SELECT CAST(body AS TEXT) LIKE '{"type":"turn_ended"%' FROM events
            WHERE session = sessions.key AND seq > sessions.seq - 32 AND CAST(body AS TEXT) LIKE '{"type":"turn_%'
            ORDER BY seq DESC LIMIT 1
        ) AS has_ended
    FROM sessions WHERE EXISTS (SELECT 1 FROM queue WHERE session = sessions.key)
)
WHERE (has_ended IS NOT 1 AND generation > 0) OR (has_ended IS NOT 0 AND waits);
