"""Gesscale on Kubernetes: the StreamAutoscaler resource and its controller."""
