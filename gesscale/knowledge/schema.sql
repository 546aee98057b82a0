-- Version 3 of the knowledge file; upgrade.sql brings older ones up to it. A higher `id` arrived later: a clock may step
-- back, an id does not.
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

-- A model each time it changed noticeably; document as gesscale.model.document.model_document.
CREATE TABLE model (
    id INTEGER PRIMARY KEY,
    operator TEXT NOT NULL,
    at_s REAL NOT NULL,
    law TEXT NOT NULL,
    document TEXT NOT NULL
) STRICT;

-- Every decision; document as gesscale.model.document.decision_document.
CREATE TABLE decision (
    id INTEGER PRIMARY KEY,
    operator TEXT NOT NULL,
    at_s REAL NOT NULL,
    policy TEXT NOT NULL,
    reason TEXT NOT NULL,
    acted INTEGER NOT NULL,
    document TEXT NOT NULL
) STRICT;

-- Orders, columns as gesscale.model.order.Order; placement is a JSON array, downtime_s is NULL until the order has settled.
CREATE TABLE placement_order (
    id INTEGER PRIMARY KEY,
    operator TEXT NOT NULL,
    at_s REAL NOT NULL,
    placement TEXT NOT NULL,
    downtime_s REAL,
    before INTEGER,
    reason TEXT NOT NULL DEFAULT '',
    settled_at_s REAL,
    given_up INTEGER NOT NULL DEFAULT 0,
    first_tasks_s REAL
) STRICT;

-- The last memo of the policy; only the policy reads it.
CREATE TABLE memo (operator TEXT PRIMARY KEY, at_s REAL NOT NULL, text TEXT NOT NULL) STRICT;

-- An index entry ends with the id, so these also order the newest first within an operator.
CREATE INDEX reading_by_operator ON reading (operator);
CREATE INDEX model_by_operator ON model (operator);
CREATE INDEX decision_by_operator ON decision (operator);
CREATE INDEX placement_order_by_operator ON placement_order (operator);

PRAGMA application_id = 0x67657363;  -- "gesc"
PRAGMA user_version = 3;
COMMIT;
