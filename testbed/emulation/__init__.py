"""A latency map on real nodes: its tc commands run there by ssh or by a DaemonSet, and every pair measured."""
