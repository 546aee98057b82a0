"""Taxi rides on the live harness: the demo, a workflow of two operators, and the demo on Kubernetes."""
