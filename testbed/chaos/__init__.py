"""Random changes of a placement while faults strike, on real Spark over emulated nodes, with every row counted."""
