"""What holds of hosts and plans where nobody says otherwise."""

DEVICE = "eth0"
"""The network device of a host."""

RATE_MBIT = 10_000
"""Rate of each class by default: above that of any link between edge nodes, so that it shapes nothing."""
