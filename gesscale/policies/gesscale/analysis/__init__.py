"""Models of `gesscale`: the law of batch times, load and scenarios, placements, and costs."""
