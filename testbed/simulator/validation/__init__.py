"""How far the simulator is from real clusters: recorded runs acted again, measured batch times predicted, refits."""
