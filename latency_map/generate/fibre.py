"""How fast packets travel between places."""

FIBRE_KM_PER_MS = 200.0
"""How far light goes in glass in a millisecond: two thirds of its speed in empty space."""

DETOUR_FACTOR = 2.1
"""How much longer than light along the great circle a packet takes: the rule of thumb that Bozkurt et al. quote
("Dissecting Latency in the Internet's Fiber Infrastructure", 2018): line of sight, times 2.1,
over the speed of light in fibre. Cables that follow roads and rails, and routes that follow contracts."""
