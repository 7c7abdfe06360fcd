"""What stands before a command: options that hold for any of them, and the settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer
import typer.core

from memhop.cli.configuration import choose, defaults
from memhop.cli.exit_codes import reporting
from memhop.common.errors import InvalidRequest

_WITHOUT_SETTINGS = frozenset({"config", "demo", "models", "completion", "instructions", "hook"})
_ALL = "memhop.cli.arguments"  # where the context keeps what was typed


class Lazy(Mapping[str, Any]):
    """Commands by name, each made when it is asked for."""

    def __init__(self, makers: Mapping[str, Callable[[], Any]]) -> None:
        self._makers = makers
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            self._made[name] = self._makers[name]()
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._makers

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


class Root(typer.core.TyperGroup):
    """The commands. It keeps what was typed behind it, which is parsed only later."""

    makers: ClassVar[Mapping[str, Callable[[], Any]]] = {}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.commands = Lazy(self.makers)  # type: ignore[assignment]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As the group does."""
        ctx.meta[_ALL] = list(args)
        return super().parse_args(ctx, args)


def _version(wanted: bool) -> None:
    if wanted:
        from memhop import __version__

        print(f"memhop {__version__}")
        raise typer.Exit


def root(
    ctx: typer.Context,
    config: Annotated[str | None, typer.Option(metavar="PATH", help="The settings; see `memhop config path`.")] = None,
    file: Annotated[Path | None, typer.Option("--file", "-f", metavar="PATH", help="The memory, a .meh file.")] = None,
    project: Annotated[str | None, typer.Option(metavar="NAME", help="For commands that know projects.")] = None,
    limit: Annotated[int | None, typer.Option(metavar="N", help="For commands that list or find.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Options before a command are those of the command, wherever it has them."""
    if ctx.invoked_subcommand is None:
        print(ctx.get_help())
        return
    choose(config)
    words: list[str] = ctx.meta[_ALL]
    typed = {"file": file, "project": project, "limit": limit, "as_json": as_json or None}
    helped = any(word in ctx.help_option_names for word in words)
    with reporting(as_json=as_json or "--json" in words):
        _check_taken(ctx, words, typed)
        reads = ctx.invoked_subcommand not in _WITHOUT_SETTINGS and not helped
        name = ctx.invoked_subcommand
        command = ctx.command.commands[name]  # type: ignore[attr-defined]
        ctx.default_map = defaults(name, command, typed, read=reads)


def _check_taken(ctx: typer.Context, words: list[str], typed: dict[str, Any]) -> None:
    """Refuse an option which the command that follows would not look at."""
    name = ctx.invoked_subcommand or ""
    command = ctx.command.commands[name]  # type: ignore[attr-defined]
    for word in words[words.index(name) + 1 :]:
        if word in getattr(command, "commands", {}):
            name, command = f"{name} {word}", command.commands[word]
    if hasattr(command, "commands") and not command.params:
        return  # a group alone prints its help
    taken = {parameter.name for parameter in command.params}
    for option, value in typed.items():
        if value is not None and option not in taken:
            shown = "--json" if option == "as_json" else f"--{option}"
            raise InvalidRequest(f"`memhop {name}` takes no such option", field=shown, allowed="see its --help")
