"""AuTraScale+ (Zhang et al., IEEE TPDS 2024): settings, memo, search, steps and policy."""
