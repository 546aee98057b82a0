"""Cards of policies that are not built in: from a user's file or package, and what is wrong with them."""

import ast
import importlib
import importlib.util
import inspect
import sys
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
from textwrap import dedent
from types import ModuleType
from zlib import crc32

from pydantic import ValidationError

from gesscale.errors import SettingsError
from gesscale.fields import SettingsGroup
from gesscale.policies.card import PolicyCard
from gesscale.words import error_in_words, first_fault, suggestion

OWN = "FILE.py:NAME or PACKAGE.MODULE:NAME"
"""The name of a policy that is not registered."""

_MODULE = "gesscale_policy_"


def placed(name: str, folder: Path) -> str:
    """Return the name of a policy; its file, if it is in one, is looked for in a folder.

    Examples
    --------
    >>> placed("mine.py:CARD", Path("conf")), placed("ds2", Path("conf"))
    ('conf/mine.py:CARD', 'ds2')
    """
    file, _, attribute = name.rpartition(":")
    return f"{folder / file}:{attribute}" if file.endswith(".py") else name


def named_object(name: str) -> object:
    """Import what a name stands for; this runs the code of its file or module.

    Parameters
    ----------
    name
        ``FILE.py:NAME`` or ``PACKAGE.MODULE:NAME``.

    Raises
    ------
    SettingsError
        When it has another form, the import raises whatever it may, or there is no such name in there.
    """
    place, _, attribute = name.rpartition(":")
    if not (place and attribute):
        message = f"policy {name!r}: expected {OWN}"
        raise SettingsError(message)
    try:
        module = _of_file(Path(place)) if place.endswith(".py") else importlib.import_module(place)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        message = f"policy {name!r}: cannot be imported: {error_in_words(error)}{place_in_file(error)}"
        raise SettingsError(message) from error
    known = vars(module)
    if attribute not in known:
        names = [key for key in known if not key.startswith("_")]
        message = f"policy {name!r}: {place} has no {attribute!r}; {suggestion(attribute, names)}"
        raise SettingsError(message)
    found: object = known[attribute]
    return found


def place_in_file(error: BaseException) -> str:
    """Say in which line of a user's file an error came up, such as " (mine.py, line 6)"; empty for other code.

    Parameters
    ----------
    error
        That was raised; the innermost line of a file that `named_object` imported counts.
    """
    place, trace = "", error.__traceback__
    while trace is not None:
        if str(trace.tb_frame.f_globals.get("__name__", "")).startswith(_MODULE):
            place = f" ({Path(trace.tb_frame.f_code.co_filename).name}, line {trace.tb_lineno})"
        trace = trace.tb_next
    return place


def card_of(value: object, name: str, origin: str, taken: Collection[str]) -> PolicyCard:
    """Return a user's value as the card of a policy.

    Parameters
    ----------
    value
        A card; or a callable of workflow and shared settings, for a policy without settings of its own.
    name
        What to call a policy that has no card.
    origin
        Where it is from, for messages.
    taken
        Names in group ``analyze`` that are taken.

    Raises
    ------
    SettingsError
        When it is neither, or its settings cannot stand in a settings file.
    """
    if isinstance(value, PolicyCard):
        if (fault := next(_faults(value, taken), None)) is not None:
            message = f"{origin}: {fault}"
            raise SettingsError(message)
        return value
    if callable(value):
        summary = (inspect.getdoc(value) or "a policy of one's own").splitlines()[0]
        return PolicyCard(name=name, summary=summary, source=origin, build=value)
    kind = type(value).__name__
    message = (
        f"{origin}: expected a PolicyCard, or a callable of workflow and settings, got a value of type {kind}"
    )
    raise SettingsError(message)


def _faults(card: PolicyCard, taken: Collection[str]) -> Iterator[str]:
    """Yield what is wrong with a card."""
    if not card.group.isidentifier():
        yield f"expected a name of letters, digits and dashes, got {card.name!r}"
    if card.settings is None:
        return
    if not (isinstance(card.settings, type) and issubclass(card.settings, SettingsGroup)):
        yield f"expected settings to be a subclass of gesscale.fields.SettingsGroup, got {card.settings!r}"
        return
    if card.group in taken:
        yield f"setting {card.group!r} is declared twice: analyze has one of that name; name the policy otherwise"
    for name in _declared_twice(card.settings):
        yield f"setting {name!r} is declared twice in {card.settings.__name__}"
    try:
        card.settings()
    except ValidationError as error:
        yield f"expected a default for every setting of {card.settings.__name__}: {first_fault(error)}"


def _declared_twice(settings: type[SettingsGroup]) -> Iterator[str]:
    """Yield the settings that a class body names twice, and those with the same name in a settings file."""
    try:
        tree = ast.parse(dedent(inspect.getsource(settings)))
    except (OSError, TypeError, SyntaxError):  # made at run time
        tree = ast.Module(body=[], type_ignores=[])
    written = Counter(
        item.target.id
        for node in tree.body
        if isinstance(node, ast.ClassDef)
        for item in node.body
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
    )
    yield from (name for name, times in written.items() if times > 1)
    called = Counter(field.alias or name for name, field in settings.model_fields.items())
    yield from (name for name, times in called.items() if times > 1)


def _of_file(path: Path) -> ModuleType:
    if not path.is_file():
        message = f"there is no file {path}"
        raise FileNotFoundError(message)
    name = f"{_MODULE}{crc32(str(path.resolve()).encode()):08x}"
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
