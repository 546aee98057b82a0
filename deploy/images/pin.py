#!/usr/bin/env python3
"""Write a kustomize component that names images by digest, from what buildx said of the images that it pushed.

    docker buildx build ... --push --metadata-file controller.json     (for each image)
    deploy/images/pin.py *.json > deploy/k3s/components/pinned-images/kustomization.yaml

Needs nothing but Python 3.11.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path

_HEAD = """\
# Written by deploy/images/pin.py. Add to an overlay: components: [../../components/pinned-images]
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
images:
"""
_TAGGED = re.compile(r"(?P<place>[\w.:/-]+/(?P<name>gesscale-[a-z]+)):[\w.-]+")


def main() -> None:
    """Print the component."""
    parser = argparse.ArgumentParser(description="A kustomize component that names images by digest.")
    parser.add_argument("metadata", nargs="+", type=Path, help="what docker buildx build --metadata-file wrote")
    try:
        pinned = [image(file) for file in parser.parse_args().metadata]
    except (OSError, ValueError) as fault:
        sys.exit(f"pin.py: {fault}")
    sys.stdout.write(component(pinned))
    for name, place, digest in pinned:
        if name == "gesscale-taxi":
            sys.stderr.write(f"for executors: spark.kubernetes.container.image {place}@{digest}\n")


def image(file: Path) -> tuple[str, str, str]:
    """Return the short name, the place in its registry and the digest of the image that a file tells of.

    Raises
    ------
    ValueError
        Where it tells of no image of this project that was pushed under one name.
    """
    try:
        metadata = json.loads(file.read_text(encoding="utf-8"))
        tagged, digest = metadata["image.name"], metadata["containerimage.digest"]
    except (ValueError, KeyError, TypeError):
        told_too_little = "expected image.name and containerimage.digest in JSON"
        message = f"{file}: {told_too_little}; was the image built by buildx with --push?"
        raise ValueError(message) from None
    found = _TAGGED.fullmatch(str(tagged))
    if found is None:
        message = f"{file}: expected image.name REGISTRY/gesscale-NAME:TAG, got {tagged!r}"
        raise ValueError(message)
    if not re.fullmatch(r"sha256:[0-9a-f]{64}", str(digest)):
        message = f"{file}: expected containerimage.digest sha256:..., got {digest!r}"
        raise ValueError(message)
    return found["name"], found["place"], digest


def component(pinned: Iterable[tuple[str, str, str]]) -> str:
    """Return the component, as YAML.

    Parameters
    ----------
    pinned
        Short name, place in its registry and digest of each image.
    """
    return _HEAD + "".join(
        f"  - name: localhost/{name}\n    newName: {place}\n    digest: {digest}\n" for name, place, digest in pinned
    )


if __name__ == "__main__":
    main()
