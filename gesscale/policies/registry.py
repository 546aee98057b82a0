"""The policies by name: the entry points of group ``gesscale.policies``, and those of a file."""

from collections.abc import Collection, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType

from gesscale.errors import SettingsError
from gesscale.model.workflow import Workflow
from gesscale.options import PolicyOptions
from gesscale.policies.card import PolicyCard
from gesscale.policies.loading import OWN, card_of, named_object
from gesscale.ports import Policy
from gesscale.words import error_in_words, suggestion


def registered() -> Mapping[str, PolicyCard]:
    """Return the installed policies that everybody may name, also the author of a resource."""
    return _registered()[0]


def unusable() -> Mapping[str, str]:
    """Return what is wrong with policies of installed packages that cannot be used, by name."""
    return _registered()[1]


def policy_names() -> Mapping[str, str]:
    """Return each registered policy's name with one line on what it does."""
    return {name: card.summary for name, card in registered().items()}


def policy_card(name: str) -> PolicyCard:
    """Return what is to be known of a registered policy; never runs code that the name points to.

    Raises
    ------
    SettingsError
        When there is no policy of that name, or its package is broken.
    """
    if name in registered():
        return registered()[name]
    raise SettingsError(unknown_policy(name, registered()))


def unknown_policy(name: str, known: Collection[str]) -> str:
    """Return what is wrong with a name that is none of the known policies: the fault of its package, or advice."""
    nearest = suggestion(name, known)
    stop = "" if nearest.endswith("?") else "."
    message = f"there is no policy {name!r}; {nearest}{stop} One's own is named {OWN}"
    return unusable().get(name, message)


@cache
def own_card(name: str) -> PolicyCard:
    """Return what is to be known of a policy that is not registered; this runs the code of its file or module.

    Only for names from whoever runs the process: options, environment and settings file.

    Parameters
    ----------
    name
        ``FILE.py:NAME`` or ``PACKAGE.MODULE:NAME``.

    Raises
    ------
    SettingsError
        When it cannot be imported, there is no such name in there, or it is no policy.
    """
    value = named_object(name)
    others = {card.group for card in registered().values() if card is not value and card.settings is not None}
    return card_of(value, name.rpartition(":")[2], f"policy {name!r}", others | _shared())


def any_card(name: str) -> PolicyCard:
    """Return what is to be known of a policy, registered or of one's own; see `policy_card` and `own_card`."""
    return own_card(name) if ":" in name else policy_card(name)


def policy_named(name: str, workflow: Workflow, options: PolicyOptions) -> Policy:
    """Build a registered policy.

    Parameters
    ----------
    name
        One of `policy_names`.
    workflow
        What it is to scale.
    options
        Its settings; see `PolicyCard.built`.

    Raises
    ------
    SettingsError
        When there is no policy of that name, or what it imports is not installed.
    """
    return policy_card(name).built(workflow, options)


@cache
def _registered() -> tuple[Mapping[str, PolicyCard], Mapping[str, str]]:
    cards, faults = dict[str, PolicyCard](), dict[str, str]()
    for entry in sorted(entry_points(group="gesscale.policies"), key=_own_first):
        origin = f"policy {entry.name!r} ({entry.value})"
        taken = {card.group for card in cards.values() if card.settings is not None}
        try:
            card = card_of(entry.load(), entry.name, origin, taken | _shared())
        except SettingsError as error:
            faults[entry.name] = str(error)
        except Exception as error:  # noqa: BLE001 - one broken package does not keep all others from work
            faults[entry.name] = f"{origin}: cannot be imported: {error_in_words(error)}"
        else:
            if card.name in cards or card.name != entry.name:
                faults[entry.name] = (
                    f"{origin}: expected a new policy of that name, got one named {card.name!r}"
                )
                continue
            cards[card.name] = card
    return MappingProxyType(dict(sorted(cards.items()))), MappingProxyType(faults)


def _own_first(entry: EntryPoint) -> tuple[bool, str]:
    """No other package can take the name of a policy that comes with gesscale."""
    return entry.dist is None or entry.dist.name != "gesscale", entry.name


def _shared() -> set[str]:
    fields = PolicyOptions.model_fields
    return {"policy", *fields, *(field.alias or name for name, field in fields.items())}
