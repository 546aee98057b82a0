"""Choice of nodes: the nearest, the farthest, and the set with the least NDmax."""
