"""Groups whose commands are imported when one of them is asked for: help and completion of names need none of them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group

from gesscale.cli.ending import INTERRUPTED
from gesscale.cli.output import complain


@dataclass(frozen=True, slots=True, kw_only=True)
class Deferred:
    """A command that is not imported yet.

    Attributes
    ----------
    target
        ``package.module:NAME`` of its function, or of the `typer.Typer` of a group.
    help
        The first sentence of its help; empty for who says it himself and is quick to import.
    example
        A command line that works, for the end of its help; a group has none.
    panel
        The heading under which it is listed.
    settings
        Further parameters of `typer.Typer.command`.
    """

    target: str
    help: str = ""
    example: str = ""
    panel: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    def load(self, name: str) -> Any:
        """Import the command, and give it this name."""
        module, _, attribute = self.target.partition(":")
        found = getattr(import_module(module), attribute)
        if isinstance(found, typer.Typer):
            command: Any = get_group(found)
            command.name = name
            return command
        single = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        single.command(
            name,
            epilog=self.example and f"Example: {self.example}",
            rich_help_panel=self.panel,
            **self.settings,
        )(found)
        return get_command(single)

    def stub(self, name: str) -> Any:
        """Return what stands for the command in a list."""
        text = self.help
        if not text:
            try:
                return self.load(name)
            except Exception as error:  # noqa: BLE001 - a broken package does not keep the others from being listed
                from gesscale.words import error_in_words

                text = f"Cannot be imported: {error_in_words(error)}"
        return TyperCommand(name=name, help=text, rich_help_panel=self.panel)


class _DeferredGroup(TyperGroup):
    """A group that knows the names of its commands, and imports the one that is asked for."""

    deferred: ClassVar[Mapping[str, Deferred]] = {}

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self._loaded: dict[str, Any] = {}
        self._is_listing = False

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names in the order of the table."""
        return [*self.deferred, *super().list_commands(ctx)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command; while they are listed, what stands for it."""
        if cmd_name not in self.deferred:
            return super().get_command(ctx, cmd_name)
        if self._is_listing:
            return self.deferred[cmd_name].stub(cmd_name)
        if cmd_name not in self._loaded:
            self._loaded[cmd_name] = self.deferred[cmd_name].load(cmd_name)
        return self._loaded[cmd_name]

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find a command; a wrong name is answered with the nearest ones."""
        known: Any = self.commands
        names: Any = dict.fromkeys(self.deferred)
        self.commands = {**names, **known}
        try:
            return super().resolve_command(ctx, args)
        finally:
            self.commands = known

    def invoke(self, ctx: Any) -> Any:
        """Run the command; Ctrl-C is said, which Typer leaves to an exit status."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            complain("interrupted")
            raise typer.Exit(INTERRUPTED) from error

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help, commands listed without importing them."""
        self._listing(partial(super().format_help, ctx, formatter))

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """Complete the name of a command without importing any."""
        return self._listing(partial(super().shell_complete, ctx, incomplete))

    def _listing(self, work: Callable[[], Any]) -> Any:
        self._is_listing = True
        try:
            return work()
        finally:
            self._is_listing = False


def deferred_group(
    name: str,
    help: str,  # noqa: A002 - as typer calls it
    commands: Mapping[str, Deferred],
    *,
    callback: Callable[..., None] | None = None,
    **more: Any,
) -> typer.Typer:
    """Make a group of commands that are imported when they are asked for.

    Parameters
    ----------
    name, help, callback
        As `typer.Typer` takes them.
    commands
        By name, in the order of the list.
    more
        Further parameters of `typer.Typer`.
    """
    return typer.Typer(
        name=name,
        help=help,
        cls=type("Group", (_DeferredGroup,), {"deferred": commands}),
        callback=callback or _no_options,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        **more,
    )


def _no_options() -> None:
    """Options of every command."""
