"""The policies of the arena: those of gesscale, the oracle, and anybody's own."""

import importlib
import importlib.util
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from zlib import crc32

from gesscale.errors import InputError
from gesscale.options import PolicyOptions
from gesscale.policies import policy_named
from gesscale.policies import policy_names as names_of_gesscale
from gesscale.ports import Policy
from gesscale.words import suggestion
from gesscale.workflow import Workflow
from testbed.arena.players.oracle import OraclePolicy
from testbed.simulator.demand import BestPlacements
from testbed.simulator.scene import Scene

IDEAL = "ideal"
STATIC = "static"
"""Begins with the replicas that the peak of its load needs; it would otherwise have one for ever."""

OWN = "FILE.py:NAME or PACKAGE.MODULE:NAME"
"""How a policy of one's own is named."""

Build = Callable[[Workflow, PolicyOptions], Policy]


def policy_names() -> Mapping[str, str]:
    """Return each policy's name with one line on what it does."""
    own = {IDEAL: "the oracle: knows the load, and changes take no time (for the metrics, not to be had)"}
    return dict(sorted({**names_of_gesscale(), **own}.items()))


def check_policy(name: str) -> None:
    """Check that there is such a policy; one's own is imported.

    Raises
    ------
    InputError
        When there is none, or it cannot be imported.
    """
    if ":" in name:
        _own_build(name)
    elif name not in policy_names():
        message = f"there is no policy {name!r}; {suggestion(name, policy_names())} One's own is named {OWN}"
        raise InputError(message)


def build_policy(name: str, scene: Scene, rules: PolicyOptions, best: Mapping[str, BestPlacements]) -> Policy:
    """Build a policy for a run.

    Parameters
    ----------
    name
        One of `policy_names`, or one's own: a callable of workflow and rules, by file or module.
    scene
        Where it runs.
    rules
        Its thresholds.
    best
        The best placements of each operator; for the oracle only.

    Raises
    ------
    InputError
        When there is no such policy. What one's own callable raises is not caught.
    """
    check_policy(name)
    if name == IDEAL:
        return OraclePolicy(scene=scene, best=best)
    if ":" in name:
        return _own_build(name)(scene.workflow, rules)
    return policy_named(name, scene.workflow, rules)


@cache
def _own_build(name: str) -> Build:
    place, _, attribute = name.rpartition(":")
    origin = f"policy {name!r}"
    if not (place and attribute):
        message = f"{origin}: expected {OWN}"
        raise InputError(message)
    try:
        module = _of_file(Path(place)) if place.endswith(".py") else importlib.import_module(place)
        build = getattr(module, attribute)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        said = " ".join(str(error).split())
        message = f"{origin}: cannot be imported: {type(error).__name__}: {said}"
        raise InputError(message) from error
    if not callable(build):
        message = f"{origin}: expected a callable of workflow and rules, got a {type(build).__name__}"
        raise InputError(message)
    called: Build = build
    return called


def _of_file(path: Path) -> ModuleType:
    if not path.is_file():
        message = f"there is no file {path}"
        raise FileNotFoundError(message)
    name = f"arena_policy_{crc32(str(path.resolve()).encode()):08x}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None  # noqa: S101 - for mypy: a name that ends in .py has a loader
    assert spec.loader is not None  # noqa: S101 - as above
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
