"""Validates the simulator against real clusters: replays recorded runs, predicts batch times, fits constants."""
