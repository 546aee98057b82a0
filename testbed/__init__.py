"""Test bed of gesscale: emulated edge nodes, a pipeline of taxi rides, workloads, simulator and arena."""
