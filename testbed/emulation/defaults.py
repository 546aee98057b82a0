"""Where the DaemonSet runs, and what, where nobody says otherwise."""

NAMESPACE = "kube-system"
IMAGE = "docker.io/nicolaka/netshoot:v0.13"
"""An image with sh and tc, for amd64 and arm64."""
