"""Pure parts of AuTraScale+ (Zhang et al., IEEE TPDS 2024): scores, Gaussian processes, the search, backlog targets."""
