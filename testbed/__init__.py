"""Where Gesscale is tried: emulated edge nodes, a pipeline of taxi rides, workloads, and what they show."""
