"""A real Kubernetes cluster on this machine, without Docker: a control plane and kubelets on an emulated edge."""
