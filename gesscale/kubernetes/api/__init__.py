"""Access to the Kubernetes API: connection, caches, leader election, events and errors.

Only this package imports the third-party package ``kubernetes``. Objects are the plain mappings that the API sends as
JSON: the package's typed models cost ten times the memory, too much for a Raspberry Pi.
"""
