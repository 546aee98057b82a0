"""Simulates Flink: rows flow without batches, and every change stops the job for some time."""
