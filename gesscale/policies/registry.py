"""Looks policies up by name: entry points of group ``gesscale.policies``, and custom policies of a file or module."""

import importlib.util
import inspect
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType, ModuleType
from zlib import crc32

from pydantic import ValidationError

from gesscale.common.errors import Problem
from gesscale.errors import SettingsError
from gesscale.extras import how_to_install
from gesscale.fields import SettingsGroup
from gesscale.formatting import describe_exception
from gesscale.model.workflow import Workflow
from gesscale.options import PolicyOptions
from gesscale.ports import Policy
from gesscale.validation import SETTING_CODES, first_problem, located, nearest, problems_of


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyInfo:
    """Description of a policy: commands, settings, docs and the loop use it to list, configure and create policies."""

    #: Name in settings and on the command line.
    name: str
    #: One line about its method.
    summary: str
    #: Paper or project that it comes from.
    source: str
    #: Creates the policy from the workflow, the shared settings and, if it has any, its own settings.
    build: Callable[..., Policy]
    #: Its own settings, each with a default; in group ``analyze`` under its name. None if it has none.
    settings: type[SettingsGroup] | None = None
    #: The shared settings that it uses, by their names in code.
    accepts: tuple[str, ...] = ()
    #: Its page in the folder docs; empty if it has none.
    guide: str = ""
    #: Extra and package that it needs beyond gesscale's own dependencies; None for most.
    needs: tuple[str, str] | None = None
    #: True if its settings include the price of a late minute, so that it minimises the cost itself.
    knows_price: bool = False

    @property
    def group(self) -> str:
        """Key of the policy's settings in group ``analyze``."""
        return self.name.replace("-", "_")

    @property
    def accepted(self) -> tuple[str, ...]:
        """The settings of group ``analyze`` that it uses, including its own group, by their names in code."""
        return self.accepts if self.settings is None else (self.group, *self.accepts)

    @property
    def is_installed(self) -> bool:
        """True if the packages that it needs are installed."""
        return self.needs is None or find_spec(self.needs[1]) is not None

    def create(self, workflow: Workflow, options: PolicyOptions) -> Policy:
        """Create the policy.

        Parameters
        ----------
        workflow
            The workflow to scale.
        options
            The shared settings, and the policy's own settings under its name; missing ones have their defaults.

        Raises
        ------
        SettingsError
            If a package that it needs is not installed, or its own settings are invalid.
        """
        if self.needs is not None and not self.is_installed:
            extra, package = self.needs
            raise SettingsError(
                "package-missing",
                source=f"policy {self.name}",
                package=package,
                extra=extra,
                command=how_to_install(extra),
            )
        own = self.own_settings(options)
        return self.build(workflow, options) if own is None else self.build(workflow, options, own)

    def own_settings(self, options: PolicyOptions) -> SettingsGroup | None:
        """Return its own settings from `options`, or their defaults; None if it has none.

        Raises
        ------
        SettingsError
            If they are invalid.
        """
        if self.settings is None:
            return None
        try:
            return self.settings.model_validate(getattr(options, self.group, {}))
        except ValidationError as error:
            raise SettingsError(located(problems_of(error, codes=SETTING_CODES), self.group)) from None


#: Form of the name of a custom policy, which is not registered.
CUSTOM_FORM = "FILE.py:NAME or PACKAGE.MODULE:NAME"

_MODULE = "gesscale_policy_"


def relative_to(name: str, folder: Path) -> str:
    """Return the name of a policy with the file of a custom policy resolved against a folder.

    Examples
    --------
    >>> relative_to("mine.py:POLICY", Path("conf")), relative_to("ds2", Path("conf"))
    ('conf/mine.py:POLICY', 'ds2')
    """
    file, _, attribute = name.rpartition(":")
    return f"{folder / file}:{attribute}" if file.endswith(".py") else name


def import_object(name: str) -> object:
    """Import the object that the name of a custom policy refers to; this runs the code of its file or module.

    Raises
    ------
    SettingsError
        If the name is malformed, the import raises anything, or the module has no such attribute.
    """
    source = f"policy {name!r}"
    module_name, _, attribute = name.rpartition(":")
    if not (module_name and attribute):
        raise SettingsError("policy-reference-malformed", source=source, form=CUSTOM_FORM)
    try:
        module = _import_file(Path(module_name)) if module_name.endswith(".py") else import_module(module_name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        cause = describe_exception(error)
        raise SettingsError("policy-import-failed", source=source, place=place_in_file(error), cause=cause) from error
    known = vars(module)
    if attribute not in known:
        own = (key for key, value in known.items() if _is_own(value, module))
        names = [key for key in own if not key.startswith("_")]
        raise SettingsError(
            "policy-object-missing",
            source=source,
            module=module_name,
            attribute=attribute,
            nearest=nearest(attribute, names) or ["none"],
        )
    found: object = known[attribute]
    return found


def _is_own(value: object, module: ModuleType) -> bool:
    """Return whether a name of a module may be its policy: no import."""
    return isinstance(value, PolicyInfo) or getattr(value, "__module__", None) == module.__name__


def place_in_file(error: BaseException) -> str:
    """Return the line of a user's file that raised an error, such as "mine.py, line 6"; empty for other code."""
    place, trace = "", error.__traceback__
    while trace is not None:
        if str(trace.tb_frame.f_globals.get("__name__", "")).startswith(_MODULE):
            place = f"{Path(trace.tb_frame.f_code.co_filename).name}, line {trace.tb_lineno}"
        trace = trace.tb_next
    return place


def as_policy_info(value: object, name: str, origin: str, taken: Collection[str]) -> PolicyInfo:
    """Return the `PolicyInfo` of a user's object: itself, or one made for a callable.

    Raises
    ------
    SettingsError
        If it is neither, or its settings cannot be part of a settings file.
    """
    if isinstance(value, PolicyInfo):
        if problems := list(_problems(value, origin, taken)):
            raise SettingsError(problems)
        return value
    if callable(value):
        summary = (inspect.getdoc(value) or "a custom policy").splitlines()[0]
        return PolicyInfo(name=name, summary=summary, source=origin, build=value)
    raise SettingsError("policy-object-invalid", source=origin, got=type(value).__name__)


def _problems(info: PolicyInfo, origin: str, taken: Collection[str]) -> Iterator[Problem]:
    """Yield the problems of a `PolicyInfo`."""
    source = {"source": origin}
    if not info.group.isidentifier():
        yield Problem("policy-name-invalid", {**source, "got": info.name})
    if info.settings is None:
        return
    if not (isinstance(info.settings, type) and issubclass(info.settings, SettingsGroup)):
        yield Problem("policy-settings-not-a-group", {**source, "got": info.settings})
        return
    if info.group in taken:
        yield Problem("policy-settings-name-taken", {**source, "name": info.group})
    try:
        info.settings()
    except ValidationError as error:
        fields = {"settings": info.settings.__name__, "cause": str(first_problem(error))}
        yield Problem("policy-settings-without-defaults", {**source, **fields})


def _import_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise FileNotFoundError(f"no such file: {path}")
    name = f"{_MODULE}{crc32(str(path.resolve()).encode()):08x}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None  # noqa: S101 - for mypy: a name with the suffix .py has a loader
    assert spec.loader is not None  # noqa: S101 - as above
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look up their module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def registered_policies() -> Mapping[str, PolicyInfo]:
    """Return the policies of installed packages, which every user may choose, including authors of a resource."""
    return _load_entry_points()[0]


def broken_policies() -> Mapping[str, Problem]:
    """Return, by name, the problem of each policy of an installed package that cannot be used."""
    return _load_entry_points()[1]


def policy_names() -> Mapping[str, str]:
    """Return the name of each registered policy with its summary."""
    return {name: info.summary for name, info in registered_policies().items()}


def policy_info(name: str) -> PolicyInfo:
    """Return the info of a registered policy; never runs code that the name points to.

    Raises
    ------
    SettingsError
        If there is no policy of this name, or its package is broken.
    """
    if name in registered_policies():
        return registered_policies()[name]
    raise SettingsError([unknown_policy(name, registered_policies())])


def unknown_policy(name: str, known: Collection[str]) -> Problem:
    """Return the problem of a name that no usable policy has: that of its broken package, or the nearest names."""
    fields = {"policy": name, "nearest": nearest(name, known), "form": CUSTOM_FORM}
    return broken_policies().get(name, Problem("policy-unknown", fields))


@cache
def custom_policy_info(name: str) -> PolicyInfo:
    """Return the info of a custom policy; this runs the code of its file or module.

    Only for names from the user who runs the process: options, environment and settings file.

    Raises
    ------
    SettingsError
        If it cannot be imported, its module has no such attribute, or the attribute is not a policy.
    """
    value = import_object(name)
    others = {info.group for info in registered_policies().values() if info is not value and info.settings is not None}
    return as_policy_info(value, name.rpartition(":")[2], f"policy {name!r}", others | _shared_settings())


def find_policy_info(name: str) -> PolicyInfo:
    """Return the info of a registered or a custom policy; see `policy_info` and `custom_policy_info`."""
    return custom_policy_info(name) if ":" in name else policy_info(name)


def policy_named(name: str, workflow: Workflow, options: PolicyOptions) -> Policy:
    """Create a registered policy.

    Parameters
    ----------
    name
        One of `policy_names`.
    workflow
        The workflow to scale.
    options
        Its settings; see `PolicyInfo.create`.

    Raises
    ------
    SettingsError
        If there is no policy of this name, or a package that it needs is not installed.
    """
    return policy_info(name).create(workflow, options)


@cache
def _load_entry_points() -> tuple[Mapping[str, PolicyInfo], Mapping[str, Problem]]:
    infos, problems = dict[str, PolicyInfo](), dict[str, Problem]()
    for entry in sorted(entry_points(group="gesscale.policies"), key=_gesscale_first):
        origin = f"policy {entry.name!r} ({entry.value})"
        taken = {info.group for info in infos.values() if info.settings is not None}
        try:
            info = as_policy_info(entry.load(), entry.name, origin, taken | _shared_settings())
        except SettingsError as error:
            problems[entry.name] = error.problem
        except Exception as error:  # noqa: BLE001 - a broken package must not disable all other policies
            fields = {"source": origin, "cause": describe_exception(error)}
            problems[entry.name] = Problem("policy-import-failed", fields)
        else:
            if info.name in infos or info.name != entry.name:
                fields = {"source": origin, "expected": entry.name, "got": info.name}
                problems[entry.name] = Problem("policy-name-mismatch", fields)
                continue
            infos[info.name] = info
    return MappingProxyType(dict(sorted(infos.items()))), MappingProxyType(problems)


def _gesscale_first(entry: EntryPoint) -> tuple[bool, str]:
    """Sort gesscale's policies first, so that no other package can take their names."""
    return entry.dist is None or entry.dist.name != "gesscale", entry.name


def _shared_settings() -> set[str]:
    fields = PolicyOptions.model_fields
    return {"policy", *fields, *(field.alias or name for name, field in fields.items())}
