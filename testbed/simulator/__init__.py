"""A plant under the same loop: operators of Spark or Flink on fog nodes, physical, and nobody's performance model."""
