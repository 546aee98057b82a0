"""A simulated plant under the same loop: operators of Spark or Flink on fog nodes. It uses no performance model."""
