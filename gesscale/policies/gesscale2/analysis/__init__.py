"""Models of `gesscale2`: the law of batch times, load and scenarios, placements, and costs."""
