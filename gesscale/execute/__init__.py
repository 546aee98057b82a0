"""Execute: adapters that start and remove replicas."""
