#!/bin/sh
# Builds the images of controller and agent, and imports them into nodes. No Docker and no registry; needs root, Debian's
# buildah and mmdebstrap, and Python 3.11 with pip. Each argument imports into one node, from standard input:
#   load.sh                                                              # this machine, a node of k3s
#   load.sh 'k3s ctr images import -' 'ssh root@pi2 k3s ctr images import -'
# PLATFORM=arm64 builds for other nodes than this machine (docs/howto/packages.md), INPUTS keeps what was downloaded.
set -eu
cd "$(dirname "$0")/../.."
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
inputs=${INPUTS:-$made/inputs}
platform=${PLATFORM:+--platform=$PLATFORM}
[ $# -gt 0 ] || set -- 'k3s ctr images import -'
# shellcheck disable=SC2086 # no word if empty
python3.11 deploy/images/offline.py fetch $platform "$inputs"
# shellcheck disable=SC2086
python3.11 deploy/images/offline.py build $platform "$inputs" "$made/images"
for image in "$made"/images/*.tar.gz; do
  for import in "$@"; do
    gunzip -c "$image" | $import
  done
done
