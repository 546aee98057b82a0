"""What Kubernetes has and needs: nodes, pods, rooms for executors, and the cluster as the loop's port."""
