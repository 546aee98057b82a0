"""What `gesscale2` learns and computes: the law of batch times, the load and its scenarios, placements, and bills."""
