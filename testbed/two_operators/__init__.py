"""A workflow of two Spark applications, joined by Kafka, on emulated edge nodes, both scaled by one loop."""
