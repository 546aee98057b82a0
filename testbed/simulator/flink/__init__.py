"""A plant that behaves as Flink does: rows flow without batches, and every change stops the job for a while."""
