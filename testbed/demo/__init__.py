"""Taxi rides on the live harness: a workflow of two operators, and the demo on Kubernetes."""
