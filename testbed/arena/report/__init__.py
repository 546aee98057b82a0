"""The arena's results as one HTML page."""
