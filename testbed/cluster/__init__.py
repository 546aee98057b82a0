"""The local cluster: edge nodes as network namespaces, delays per pair of nodes, Spark underneath.

A cluster has the name of its topology. No record is needed to find what belongs to it: processes carry a marker in
their environment, and namespaces and devices have the cluster in their names. So ``up`` and ``down`` clean up after
a kill -9 of any process.
"""
