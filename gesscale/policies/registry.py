"""The policies by name, as people choose them: entry points of group gesscale.policies, and those of a file."""

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType, ModuleType
from zlib import crc32

from pydantic import ValidationError

from gesscale.errors import SettingsError
from gesscale.extras import how_to_install
from gesscale.fields import SettingsGroup
from gesscale.formatting import describe_exception, first_fault, suggestion
from gesscale.model.workflow import Workflow
from gesscale.options import PolicyOptions
from gesscale.ports import Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyInfo:
    """All that there is to know of a policy; whatever lists, sets, documents or builds policies reads it here."""

    #: How it is chosen.
    name: str
    #: What it does, in a line.
    summary: str
    #: Where it is from.
    source: str
    #: Makes it of a workflow and settings: the shared settings and, where it has some, its own.
    build: Callable[..., Policy]
    #: Its own settings, with which it works as they are by default; they stand in group ``analyze`` under its
    #: name. None where it has none.
    settings: type[SettingsGroup] | None = None
    #: The shared settings that it uses, by their names in code.
    accepts: tuple[str, ...] = ()
    #: Its page in the folder docs; empty for none.
    guide: str = ""
    #: A package that it imports, by the name of the extra that installs it; none for most.
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
            raise SettingsError(f"policy {self.name} needs {package}: {how_to_install(extra)}")
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
            raise SettingsError(f"{self.group}: {first_fault(error)}") from None


#: The name of a policy that is not registered.
OWN = "FILE.py:NAME or PACKAGE.MODULE:NAME"

_MODULE = "gesscale_policy_"


def placed(name: str, folder: Path) -> str:
    """Return the name of a policy; its file, if it is in one, is looked for in a folder.

    Examples
    --------
    >>> placed("mine.py:POLICY", Path("conf")), placed("ds2", Path("conf"))
    ('conf/mine.py:POLICY', 'ds2')
    """
    file, _, attribute = name.rpartition(":")
    return f"{folder / file}:{attribute}" if file.endswith(".py") else name


def named_object(name: str) -> object:
    """Import what a name stands for; this runs the code of its file or module.

    Raises
    ------
    SettingsError
        When it has another form, the import raises whatever it may, or there is no such name in there.
    """
    place, _, attribute = name.rpartition(":")
    if not (place and attribute):
        raise SettingsError(f"policy {name!r}: expected {OWN}")
    try:
        module = _of_file(Path(place)) if place.endswith(".py") else importlib.import_module(place)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise SettingsError(
            f"policy {name!r}: cannot be imported: {describe_exception(error)}{place_in_file(error)}"
        ) from error
    known = vars(module)
    if attribute not in known:
        names = [key for key in known if not key.startswith("_")]
        raise SettingsError(f"policy {name!r}: {place} has no {attribute!r}; {suggestion(attribute, names)}")
    found: object = known[attribute]
    return found


def place_in_file(error: BaseException) -> str:
    """Say in which line of a user's file an error came up, such as " (mine.py, line 6)"; empty for other code."""
    place, trace = "", error.__traceback__
    while trace is not None:
        if str(trace.tb_frame.f_globals.get("__name__", "")).startswith(_MODULE):
            place = f" ({Path(trace.tb_frame.f_code.co_filename).name}, line {trace.tb_lineno})"
        trace = trace.tb_next
    return place


def as_policy_info(value: object, name: str, origin: str, taken: Collection[str]) -> PolicyInfo:
    """Return a user's value as the info of a policy.

    Raises
    ------
    SettingsError
        When it is neither, or its settings cannot stand in a settings file.
    """
    if isinstance(value, PolicyInfo):
        if (fault := next(_faults(value, taken), None)) is not None:
            raise SettingsError(f"{origin}: {fault}")
        return value
    if callable(value):
        summary = (inspect.getdoc(value) or "a policy of one's own").splitlines()[0]
        return PolicyInfo(name=name, summary=summary, source=origin, build=value)
    kind = type(value).__name__
    raise SettingsError(
        f"{origin}: expected a PolicyInfo, or a callable of workflow and settings, got a value of type {kind}"
    )


def _faults(info: PolicyInfo, taken: Collection[str]) -> Iterator[str]:
    """Yield what is wrong with a info."""
    if not info.group.isidentifier():
        yield f"expected a name of letters, digits and dashes, got {info.name!r}"
    if info.settings is None:
        return
    if not (isinstance(info.settings, type) and issubclass(info.settings, SettingsGroup)):
        yield f"expected settings to be a subclass of gesscale.fields.SettingsGroup, got {info.settings!r}"
        return
    if info.group in taken:
        yield f"setting {info.group!r} is declared twice: analyze has one of that name; name the policy otherwise"
    try:
        info.settings()
    except ValidationError as error:
        yield f"expected a default for every setting of {info.settings.__name__}: {first_fault(error)}"


def _of_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
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


def registered() -> Mapping[str, PolicyInfo]:
    """Return the installed policies that everybody may name, also the author of a resource."""
    return _registered()[0]


def unusable() -> Mapping[str, str]:
    """Return what is wrong with policies of installed packages that cannot be used, by name."""
    return _registered()[1]


def policy_names() -> Mapping[str, str]:
    """Return each registered policy's name with one line on what it does."""
    return {name: info.summary for name, info in registered().items()}


def policy_info(name: str) -> PolicyInfo:
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
def own_policy_info(name: str) -> PolicyInfo:
    """Return what is to be known of a policy that is not registered; this runs the code of its file or module.

    Only for names from whoever runs the process: options, environment and settings file.

    Raises
    ------
    SettingsError
        When it cannot be imported, there is no such name in there, or it is no policy.
    """
    value = named_object(name)
    others = {info.group for info in registered().values() if info is not value and info.settings is not None}
    return as_policy_info(value, name.rpartition(":")[2], f"policy {name!r}", others | _shared())


def find_policy_info(name: str) -> PolicyInfo:
    """Return what is to be known of a policy, registered or of one's own; see `policy_info` and `own_policy_info`."""
    return own_policy_info(name) if ":" in name else policy_info(name)


def policy_named(name: str, workflow: Workflow, options: PolicyOptions) -> Policy:
    """Build a registered policy.

    Parameters
    ----------
    name
        One of `policy_names`.
    workflow
        What it is to scale.
    options
        Its settings; see `PolicyInfo.built`.

    Raises
    ------
    SettingsError
        When there is no policy of that name, or what it imports is not installed.
    """
    return policy_info(name).built(workflow, options)


@cache
def _registered() -> tuple[Mapping[str, PolicyInfo], Mapping[str, str]]:
    infos, faults = dict[str, PolicyInfo](), dict[str, str]()
    for entry in sorted(entry_points(group="gesscale.policies"), key=_own_first):
        origin = f"policy {entry.name!r} ({entry.value})"
        taken = {info.group for info in infos.values() if info.settings is not None}
        try:
            info = as_policy_info(entry.load(), entry.name, origin, taken | _shared())
        except SettingsError as error:
            faults[entry.name] = str(error)
        except Exception as error:  # noqa: BLE001 - one broken package does not keep all others from work
            faults[entry.name] = f"{origin}: cannot be imported: {describe_exception(error)}"
        else:
            if info.name in infos or info.name != entry.name:
                faults[entry.name] = f"{origin}: expected a new policy of that name, got one named {info.name!r}"
                continue
            infos[info.name] = info
    return MappingProxyType(dict(sorted(infos.items()))), MappingProxyType(faults)


def _own_first(entry: EntryPoint) -> tuple[bool, str]:
    """No other package can take the name of a policy that comes with gesscale."""
    return entry.dist is None or entry.dist.name != "gesscale", entry.name


def _shared() -> set[str]:
    fields = PolicyOptions.model_fields
    return {"policy", *fields, *(field.alias or name for name, field in fields.items())}
