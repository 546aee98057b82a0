"""Pure parts of policy `daedalus` (Pfister et al., ICPE 2024): capacity, forecast, recovery and Algorithm 1."""
