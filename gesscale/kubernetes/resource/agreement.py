"""What the operators of one workflow must have in common, and where they have not."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gesscale.kubernetes.resource.autoscaler import StreamAutoscaler


def differences(members: Sequence[StreamAutoscaler]) -> Iterator[str]:
    """Say each member of policy, monitor, latency map and settling that is not the same everywhere.

    Parameters
    ----------
    members
        Of one workflow, at least one.

    Yields
    ------
    str
        Such as ``policy.law ('auto' in near, 'gesscale' in clean)``.
    """
    shared = {item.name: dict(_shared(item)) for item in members}
    for path in next(iter(shared.values())):
        values: dict[object, str] = {}
        for name, found in shared.items():
            values.setdefault(found.get(path), name)
        if len(values) > 1:
            said = ", ".join(
                f"{'nothing' if value is None else value!r} in {name}" for value, name in values.items()
            )
            yield f"{path} ({said})"


def _shared(item: StreamAutoscaler) -> Iterator[tuple[str, Any]]:
    spec = item.spec.model_dump(mode="json", by_alias=True)
    for group in ("policy", "monitor", "latencyMap"):
        yield from _flat(group, spec[group])
    yield "reconfiguration.rescaleTimeout", spec["reconfiguration"]["rescaleTimeout"]


def _flat(path: str, value: object) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flat(f"{path}.{key}", inner)
    else:
        yield path, str(value) if isinstance(value, list) else value
