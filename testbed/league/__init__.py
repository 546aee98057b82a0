"""The arena's cases on the real local cluster, scored like in the arena, and compared with their simulation."""
