"""Files that say what nodes there are: a list in YAML or JSON, or what ``kubectl get nodes -o json`` writes."""

from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from gesscale.cli.latency_map.kubectl import KubectlNodes, KubectlPods, to_candidates
from gesscale.cli.output import stderr_console
from gesscale.common.yaml_text import parse_yaml, read_text
from gesscale.errors import InputError
from gesscale.kubernetes.placement.nodes import Quantity
from gesscale.words import first_fault
from latency_map.choose.candidates import Candidate
from latency_map.formats.json_text import parse_json

MAX_BYTES = 64 << 20
"""Most bytes of a file: some thousand pods, as kubectl prints them."""

_SOME_NODES = "expected a list of nodes, each with a name, or the output of kubectl get nodes -o json"
_SOME_PODS = "expected the output of kubectl get pods -A -o json"

T = TypeVar("T")


class NodeRow(BaseModel):
    """A node of the list; only its name is needed."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    weight: float = Field(default=1.0, ge=0, allow_inf_nan=False)
    ready: bool = True
    schedulable: bool = True
    free_cpus: Quantity | None = None
    free_memory: Quantity | None = None
    arch: str | None = None
    zone: str | None = None
    labels: dict[str, str] = {}
    remark: str = ""

    def candidate(self) -> Candidate:
        """Return the node as it can be judged; its zone is one of its labels."""
        zone = {} if self.zone is None else {"zone": self.zone}
        return Candidate(
            name=self.name,
            weight=self.weight,
            ready=self.ready,
            schedulable=self.schedulable,
            free_cpus=None if self.free_cpus is None else float(self.free_cpus),
            free_memory_bytes=None if self.free_memory is None else float(self.free_memory),
            arch=self.arch,
            labels={**zone, **self.labels},
            remark=self.remark,
        )


def read_nodes(file: Path, pods: Path | None, *, room_counts: bool = True) -> tuple[Candidate, ...]:
    """Read what nodes there are; say on stderr where they are taken to be empty.

    Parameters
    ----------
    file
        A list of `NodeRow` in YAML or JSON, or the output of ``kubectl get nodes -o json``.
    pods
        The output of ``kubectl get pods -A -o json``, for the room that is taken; None where it is not known.
    room_counts
        Whether the caller asks for room on the nodes, so that it is said where they are taken to be empty.

    Returns
    -------
    tuple of Candidate
        In the order of the file, each name once.

    Raises
    ------
    InputError
        A file cannot be read, is not of that form, or names a node twice.
    """
    document = _read(file)
    if isinstance(document, dict):
        if pods is None and room_counts:
            stderr_console.print(
                f"note: the nodes of {file} are taken to be empty; --pods says what takes room there"
            )
        taken = None if pods is None else _valid(KubectlPods, _read(pods), pods, _SOME_PODS)
        nodes = to_candidates(_valid(KubectlNodes, document, file, _SOME_NODES), taken)
    elif pods is not None:
        message = (
            f"{pods}: expected it together with the output of kubectl get nodes -o json, got a list in {file}"
        )
        raise InputError(f"{message}; state free_cpus and free_memory there")
    else:
        nodes = [row.candidate() for row in _valid(list[NodeRow], document, file, _SOME_NODES)]
    names = [node.name for node in nodes]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        message = f"{file}: expected every node once, got {', '.join(twice)} twice"
        raise InputError(message)
    return tuple(nodes)


def _valid(form: type[T], document: object, file: Path, expected: str) -> T:
    try:
        return TypeAdapter(form).validate_python(document)
    except ValidationError as error:
        message = f"{file}: {expected}; {first_fault(error)}"
        raise InputError(message) from None


def _read(file: Path) -> object:
    try:
        return parse_listing(read_text(file, max_bytes=MAX_BYTES), str(file))
    except OSError as error:
        message = f"{file}: {error.strerror or error}; name an existing file"
        raise InputError(message) from None
    except InputError as error:
        raise InputError(str(error)) from None


def parse_listing(text: str, source: str) -> Any:
    """Read JSON, as kubectl prints it, or else YAML.

    Raises
    ------
    LatencyMapError
        It is neither.
    """
    return parse_json(text, source) if text.lstrip().startswith("{") else parse_yaml(text, source)
