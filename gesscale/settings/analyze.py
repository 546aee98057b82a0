"""Settings of group ``analyze``: the policy, the settings that policies share, and those that each policy declares."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, TypeVar

from pydantic import Field, create_model, field_validator

from gesscale.common.errors import GesscaleError, InvalidValueError
from gesscale.errors import SettingsError
from gesscale.fields import SettingsGroup
from gesscale.formatting import describe_exception
from gesscale.model.workflow import Workflow
from gesscale.options import PolicyOptions
from gesscale.policies.registry import (
    PolicyInfo,
    place_in_file,
    policy_info,
    policy_names,
    registered_policies,
    unknown_policy,
)
from gesscale.ports import Policy

_G = TypeVar("_G", bound=SettingsGroup)


def with_own_settings(infos: Iterable[PolicyInfo]) -> Callable[[type[_G]], type[_G]]:
    """Add to a group of settings the groups that policies declare, each under the name of the policy."""
    fields: dict[str, Any] = {
        info.group: (info.settings, Field(info.settings(), description=f"Settings of `{info.name}`."))
        for info in infos
        if info.settings is not None
    }
    return lambda group: create_model(
        group.__name__, __base__=group, __module__=group.__module__, __doc__=group.__doc__, **fields
    )


class _NamedPolicy(SettingsGroup):
    CUSTOM: ClassVar[Mapping[str, PolicyInfo]] = {}

    policy: str = Field(
        "gesscale",
        description=f"One of {', '.join(policy_names())}. The default has the lowest cost on the "
        "arena's loads; `gesscale-2021` is the paper's policy.",
    )

    @field_validator("policy")
    @classmethod
    def _check_policy(cls, value: str) -> str:
        if value not in policy_names() and value not in cls.CUSTOM:
            raise InvalidValueError([unknown_policy(value, policy_names())])
        return value


@with_own_settings(registered_policies().values())
class AnalyzeSettings(PolicyOptions, _NamedPolicy):
    """Analysis: when an operator needs more or fewer replicas."""

    @property
    def policy_info(self) -> PolicyInfo:
        """The chosen policy."""
        return self.CUSTOM[self.policy] if self.policy in self.CUSTOM else policy_info(self.policy)

    def build(self, workflow: Workflow) -> Policy:
        """Create the chosen policy with its settings.

        Raises
        ------
        SettingsError
            If a package that it needs is not installed, or a custom policy cannot be created.
        """
        if self.policy not in self.CUSTOM:
            return self.policy_info.create(workflow, self)
        try:
            policy = self.policy_info.create(workflow, self)
        except GesscaleError:
            raise
        except Exception as error:
            raise SettingsError(
                "policy-creation-failed",
                source=f"policy {self.policy!r}",
                place=place_in_file(error),
                cause=describe_exception(error),
            ) from error
        if missing := [name for name in ("name", "analyze", "plan") if not hasattr(policy, name)]:
            raise SettingsError(
                "policy-incomplete", source=f"policy {self.policy!r}", got=type(policy).__name__, missing=missing
            )
        return policy


def analyze_settings_with(infos: Mapping[str, PolicyInfo]) -> type[AnalyzeSettings]:
    """Return settings that accept custom policies, by names such as ``mine.py:POLICY``."""

    class WithCustom(AnalyzeSettings):
        CUSTOM: ClassVar[Mapping[str, PolicyInfo]] = infos

    return with_own_settings(infos.values())(WithCustom)
