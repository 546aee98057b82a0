"""Who plays: policies by name, the oracles, and the referee that watches them."""
