"""The arena's cases on the real local cluster, each scored by the arena's scorer, and simulated too."""
