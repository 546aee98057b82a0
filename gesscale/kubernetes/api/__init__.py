"""The shell around the Kubernetes API: connection, caches, leadership, events and faults.

The third-party package ``kubernetes`` is imported below this package only. Objects are the plain mappings that the API
sends as JSON: its typed models cost ten times the memory, which a Pi does not have.
"""
