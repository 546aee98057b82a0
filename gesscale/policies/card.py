"""A policy as people choose it: what it is, where it is from, which settings it has, and how it is built."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Protocol, TypeVar

from pydantic import ValidationError

from gesscale.errors import SettingsError
from gesscale.extras import how_to_install
from gesscale.fields import SettingsGroup
from gesscale.model.workflow import Workflow
from gesscale.options import PolicyOptions
from gesscale.ports import Policy
from gesscale.words import first_fault

_S_contra = TypeVar("_S_contra", bound=SettingsGroup, contravariant=True)


class _NodeChoosing(Protocol[_S_contra]):
    def __call__(
        self, workflow: Workflow, options: PolicyOptions, *, latency_aware: bool, sizing: _S_contra
    ) -> Policy: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyCard:
    """All that there is to know of a policy; whatever lists, sets, documents or builds policies reads it here.

    Attributes
    ----------
    name
        How it is chosen.
    summary
        What it does, in a line.
    source
        Where it is from.
    build
        Makes it of a workflow and settings: the shared settings and, where it has some, its own.
    settings
        Its own settings, with which it works as they are by default; they stand in group ``analyze`` under its name.
        None where it has none.
    accepts
        The shared settings that it uses, by their names in code.
    guide
        Its page in the folder docs; empty for none.
    needs
        A package that it imports, by the name of the extra that installs it; none for most.
    """

    name: str
    summary: str
    source: str
    build: Callable[..., Policy]
    settings: type[SettingsGroup] | None = None
    accepts: tuple[str, ...] = ()
    guide: str = ""
    needs: tuple[str, str] | None = None

    @property
    def group(self) -> str:
        """The name in group ``analyze`` under which its own settings stand."""
        return self.name.replace("-", "_")

    @property
    def accepted(self) -> tuple[str, ...]:
        """The settings of group ``analyze`` that it uses, its own group included, by their names in code."""
        return self.accepts if self.settings is None else (self.group, *self.accepts)

    @property
    def is_installed(self) -> bool:
        """Whether all that it imports is there."""
        return self.needs is None or find_spec(self.needs[1]) is not None

    def built(self, workflow: Workflow, options: PolicyOptions) -> Policy:
        """Build the policy.

        Parameters
        ----------
        workflow
            What it is to scale.
        options
            Its settings; its own ones where they stand there under its name, else their defaults.

        Returns
        -------
        Policy
            Ready for the loop.

        Raises
        ------
        SettingsError
            When what it imports is not installed, or its own settings cannot be used.
        """
        if self.needs is not None and not self.is_installed:
            extra, package = self.needs
            message = f"policy {self.name} needs {package}: {how_to_install(extra)}"
            raise SettingsError(message)
        own = self.own_settings(options)
        return self.build(workflow, options) if own is None else self.build(workflow, options, own)

    def own_settings(self, options: PolicyOptions) -> SettingsGroup | None:
        """Return its own settings, those that `options` hold under its name or their defaults; None where it has none.

        Raises
        ------
        SettingsError
            When what stands there cannot be used.
        """
        if self.settings is None:
            return None
        try:
            return self.settings.model_validate(getattr(options, self.group, {}))
        except ValidationError as error:
            message = f"{self.group}: {first_fault(error)}"
            raise SettingsError(message) from None


def on_nodes_as_told(
    policy: _NodeChoosing[_S_contra],
) -> Callable[[Workflow, PolicyOptions, _S_contra], Policy]:
    """Build a policy that knows no delays on the nearest nodes, or on drawn ones, as `node_choice` says."""
    return lambda workflow, options, own: policy(
        workflow, options, latency_aware=options.node_choice == "nearest", sizing=own
    )


ON_NODES = ("stabilization_window_s", "node_choice", "seed")
"""The shared settings of every policy that proposes a number of replicas."""
