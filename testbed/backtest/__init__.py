"""Backtest: what the auto-scaler would have done with a load that was recorded without it."""
