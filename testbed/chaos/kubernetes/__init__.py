"""Chaos on Kubernetes: the real controller between a query and an API server that fails."""
