"""The cluster as Kubernetes shows it: nodes, pods, free room for executors, and the loop's cluster port."""
