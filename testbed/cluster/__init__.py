"""The local cluster: edge nodes as network namespaces, delays per pair of nodes, Spark underneath.

A cluster is known by the name of its topology. All that belongs to it can be found without any record of it:
processes by a marker in their environment, namespaces and devices by their names. That is what lets
``up`` and ``down`` clean up after a kill -9 of anything.
"""
