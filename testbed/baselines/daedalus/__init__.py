"""Daedalus (Pfister et al., ICPE 2024): settings, capacity model, forecast and policy."""
