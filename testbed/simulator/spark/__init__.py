"""Simulates Spark Structured Streaming: micro-batches with a cap and a trigger, tasks in waves, serial round trips."""
