-- From version 1 of the knowledge file to version 2, in one transaction.
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS memo (operator TEXT PRIMARY KEY, at_s REAL NOT NULL, text TEXT NOT NULL) STRICT;
PRAGMA user_version = 2;
COMMIT;
