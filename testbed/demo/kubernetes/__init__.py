"""The demo on Kubernetes: a day of taxi rides on three kubelets of this machine, scaled by the controller."""
