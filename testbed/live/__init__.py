"""The harness of live runs: nodes, queries and their rows, the loop, the record, and the report."""
