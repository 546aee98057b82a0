"""Simulates operators of Spark or Flink on fog nodes under the real loop, without a performance model."""
