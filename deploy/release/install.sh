#!/bin/sh
# Installs gesscale on k3s without a network. Run it as root in the folder of the unpacked bundle:
#   sh install.sh node                   on every node: the images
#   sh install.sh server [MANIFEST]      on one server: the images and manifests/MANIFEST.yaml
#                                        (gesscale, the default; raspberry-pi; single-node)
# K3S is the data folder of k3s, if it is not /var/lib/rancher/k3s.
set -eu
cd "$(dirname "$0")"
k3s=${K3S:-/var/lib/rancher/k3s}
fail() { echo "install.sh: $1" >&2; exit 2; }
role=${1:-}
manifest=manifests/${2:-gesscale}.yaml
case $role in node | server) ;; *) fail "expected node or server, got ${role:-nothing}" ;; esac
[ -f "$manifest" ] || fail "expected one of $(cd manifests && echo *.yaml | sed 's/\.yaml//g'), got $2"
sha256sum --quiet -c SHA256SUMS || fail "checksum mismatch: copy the bundle again"
case $(uname -m) in x86_64) here=amd64 ;; aarch64) here=arm64 ;; *) here=$(uname -m) ;; esac
[ -n "$(ls images/*-"$here".tar.gz 2>/dev/null)" ] || fail "the images are not for $here: use the bundle of this platform"

mkdir -p "$k3s/agent/images"
cp images/*.tar.gz "$k3s/agent/images/"
echo "images are in $k3s/agent/images: k3s imports them when it starts (systemctl restart k3s, or k3s-agent)"
if [ "$role" = server ]; then
  mkdir -p "$k3s/server/manifests"
  cp "$manifest" "$k3s/server/manifests/gesscale.yaml"
  echo "manifests are in $k3s/server/manifests/gesscale.yaml: k3s applies them"
fi
