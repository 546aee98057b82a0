"""Which nodes to take: the nearest, the farthest, the set with the least NDmax."""
