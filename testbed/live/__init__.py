"""One harness for live runs: nodes, queries and their rows, the loop, what was recorded, and the report."""
