"""The policy of the paper (Algorithms 1-4): settings, sized placements, texts of its decisions, and policy."""
