-- Version 2 of the knowledge file; memo.sql brings version 1 up to it. `id` is the order of arrival: a clock may step back, an id does not.
-- JSON columns hold what is shown and not searched. Applied in one transaction, version included, so that a
-- process killed meanwhile leaves either the empty file or the whole schema.
BEGIN IMMEDIATE;

-- Evidence for the performance model; columns as perfmodel.Reading.
CREATE TABLE reading (
    id INTEGER PRIMARY KEY,
    operator TEXT NOT NULL,
    at_s REAL NOT NULL,
    replicas INTEGER NOT NULL,
    nd_max_ms REAL NOT NULL,
    rows_per_s REAL NOT NULL,
    saturated INTEGER NOT NULL,
    batch_rows REAL,
    tasks INTEGER,
    weight REAL
) STRICT;

-- A model each time it changed noticeably; document as gesscale.document.model_document.
CREATE TABLE model (
    id INTEGER PRIMARY KEY,
    operator TEXT NOT NULL,
    at_s REAL NOT NULL,
    law TEXT NOT NULL,
    document TEXT NOT NULL
) STRICT;

-- Every decision; document as gesscale.document.decision_document.
CREATE TABLE decision (
    id INTEGER PRIMARY KEY,
    operator TEXT NOT NULL,
    at_s REAL NOT NULL,
    policy TEXT NOT NULL,
    reason TEXT NOT NULL,
    acted INTEGER NOT NULL,
    document TEXT NOT NULL
) STRICT;

-- Changes that were carried out; placement is a JSON array, downtime_s is NULL until the change has settled.
CREATE TABLE reconfiguration (
    id INTEGER PRIMARY KEY,
    operator TEXT NOT NULL,
    at_s REAL NOT NULL,
    placement TEXT NOT NULL,
    downtime_s REAL
) STRICT;

-- What the policy said last that it is to be told, in its own words.
CREATE TABLE memo (operator TEXT PRIMARY KEY, at_s REAL NOT NULL, text TEXT NOT NULL) STRICT;

-- An index entry ends with the id, so these also order the newest first within an operator.
CREATE INDEX reading_by_operator ON reading (operator);
CREATE INDEX model_by_operator ON model (operator);
CREATE INDEX decision_by_operator ON decision (operator);
CREATE INDEX reconfiguration_by_operator ON reconfiguration (operator);

PRAGMA application_id = 0x67657363;  -- "gesc"
PRAGMA user_version = 2;
COMMIT;
