"""Who plays: policies by name, the oracle, and the referee that watches them."""
