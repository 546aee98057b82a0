"""Spark Structured Streaming: micro-batches with a cap and a trigger, tasks in waves, round trips in series."""
