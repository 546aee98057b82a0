"""What a running scaler serves: metrics, an API of its decisions, and the page that shows them; all of it read-only."""
