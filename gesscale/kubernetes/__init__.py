"""Gesscale on Kubernetes: the StreamAutoscaler resource, and the controller that obeys and reports by it."""
