"""Analysis shared by policies: which operators may be evaluated, load, capacity. Pure."""
