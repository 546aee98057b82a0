"""Settings of group ``analyze``: which policy, the settings that several share, and those that each declares itself."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, TypeVar

from pydantic import Field, create_model, field_validator

from gesscale.errors import GesscaleError, SettingsError
from gesscale.fields import SettingsGroup
from gesscale.formatting import describe_exception
from gesscale.model.workflow import Workflow
from gesscale.options import PolicyOptions
from gesscale.policies.registry import PolicyInfo, place_in_file, policy_info, policy_names, registered, unusable
from gesscale.ports import Policy

_G = TypeVar("_G", bound=SettingsGroup)


def with_own_settings(infos: Iterable[PolicyInfo]) -> Callable[[type[_G]], type[_G]]:
    """Give a group of settings the groups that policies declare, each under the policy's name."""
    fields: dict[str, Any] = {
        info.group: (info.settings, Field(info.settings(), description=f"Of `{info.name}`."))
        for info in infos
        if info.settings is not None
    }
    return lambda group: create_model(
        group.__name__, __base__=group, __module__=group.__module__, __doc__=group.__doc__, **fields
    )


class _NamedPolicy(SettingsGroup):
    OWN: ClassVar[Mapping[str, PolicyInfo]] = {}

    policy: str = Field(
        "gesscale2",
        description=f"One of {', '.join(policy_names())}. The default has the lowest cost on the "
        "arena's loads; `gesscale` is the paper's policy.",
    )

    @field_validator("policy")
    @classmethod
    def _check_policy(cls, value: str) -> str:
        if value not in policy_names() and value not in cls.OWN:
            raise ValueError(unusable().get(value, f"expected one of {', '.join(policy_names())}"))
        return value


@with_own_settings(registered().values())
class AnalyzeSettings(PolicyOptions, _NamedPolicy):
    """When an operator needs more or fewer replicas."""

    @property
    def policy_info(self) -> PolicyInfo:
        """The policy that is chosen."""
        return self.OWN[self.policy] if self.policy in self.OWN else policy_info(self.policy)

    def build(self, workflow: Workflow) -> Policy:
        """Return the policy that is chosen, with its settings.

        Raises
        ------
        SettingsError
            When what it imports is not installed, or somebody's own cannot be made.
        """
        if self.policy not in self.OWN:
            return self.policy_info.built(workflow, self)
        try:
            policy = self.policy_info.built(workflow, self)
        except GesscaleError:
            raise
        except Exception as error:
            raise SettingsError(
                f"policy {self.policy!r}: cannot be made: {describe_exception(error)}{place_in_file(error)}"
            ) from error
        if lacks := [name for name in ("name", "analyze", "plan") if not hasattr(policy, name)]:
            raise SettingsError(
                f"policy {self.policy!r}: expected a policy, got a {type(policy).__name__} without {lacks[0]}"
            )
        return policy


def analyze_settings_with(infos: Mapping[str, PolicyInfo]) -> type[AnalyzeSettings]:
    """Return settings that may choose policies which are not registered, by names such as ``mine.py:POLICY``."""

    class WithOwn(AnalyzeSettings):
        OWN: ClassVar[Mapping[str, PolicyInfo]] = infos

    return with_own_settings(infos.values())(WithOwn)
