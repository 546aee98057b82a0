"""What `gesscale2` learns and computes: the law of batch times, the load and its courses, placements, and bills."""
