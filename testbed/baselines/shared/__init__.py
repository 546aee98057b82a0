"""Signals, bottleneck detection and sizing that several baselines share."""
