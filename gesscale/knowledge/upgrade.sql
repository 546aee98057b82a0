-- From version 1 or 2 of the knowledge file to version 3, in one transaction. Version 1 has no memos, and version 2 has of
-- an order only its placement and its downtime.
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS memo (operator TEXT PRIMARY KEY, at_s REAL NOT NULL, text TEXT NOT NULL) STRICT;
ALTER TABLE reconfiguration RENAME TO placement_order;
ALTER TABLE placement_order ADD COLUMN before INTEGER;
ALTER TABLE placement_order ADD COLUMN reason TEXT NOT NULL DEFAULT '';
ALTER TABLE placement_order ADD COLUMN settled_at_s REAL;
ALTER TABLE placement_order ADD COLUMN given_up INTEGER NOT NULL DEFAULT 0;
ALTER TABLE placement_order ADD COLUMN first_tasks_s REAL;
DROP INDEX reconfiguration_by_operator;
CREATE INDEX placement_order_by_operator ON placement_order (operator);
PRAGMA user_version = 3;
COMMIT;
