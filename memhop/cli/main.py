"""The entry point of `memhop`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import typer
import typer.main

from memhop.cli import (
    asking,
    backup,
    bench,
    briefs,
    capability,
    commands,
    completion,
    config,
    demo,
    doctor,
    dreaming,
    erase,
    facts,
    filling,
    hook,
    hook_command,
    instructions,
    knowledge,
    mcp,
    messages,
    models,
    notes,
    past,
    profile,
    projects,
    scenes,
    serve,
    token,
    topics,
    trajectory,
    transfer,
    turns,
    upkeep,
)
from memhop.cli.exit_codes import FAILED, INTERRUPTED
from memhop.cli.output import clean, is_fancy, prepare_streams
from memhop.cli.root import Root, root

_ABOUT = (
    "Long-term memory for AI agents: one agent, one file, no server, no model needed.\n\n"
    "The file is --file, else the environment's MEMHOP_FILE, else that of memhop.toml, else memory.meh in this folder. "
    "Options may stand before a command or behind it. "
    "Exit codes: 0 done, 1 nothing found or failed, 2 usage, 3 the file is locked by another process."
)
_COMMANDS: dict[str, Callable[..., None]] = {  # in the order of the help
    "demo": demo.demo,
    "remember": commands.remember,
    "recall": commands.recall,
    "explain": commands.explain,
    "why-not": asking.why_not,
    "show": asking.show,
    "usage": asking.usage,
    "brief": briefs.brief,
    **notes.COMMANDS,
    "forget": erase.forget,
    "purge": erase.purge,
    "search": turns.search,
    "update": turns.update,
    "dream": dreaming.dream,
    "crystallize": capability.crystallize,
    "pending": filling.pending,
    "backfill": filling.backfill,
    "export": transfer.export,
    "import": transfer.import_,
    "maintain": briefs.maintain,
    "stats": commands.stats,
    "doctor": doctor.doctor,
    "verify": upkeep.verify,
    "repair": upkeep.repair,
    "compact": upkeep.compact,
    "serve": serve.serve,
    "status": serve.status,
    "stop": serve.stop,
    "hook": hook_command.hook,
    "bench": bench.bench,
    "instructions": instructions.instructions,
    "completion": completion.completion,
}
_GROUPS: dict[str, Callable[[], typer.Typer]] = {
    "at": past.build_group,
    "projects": projects.build_group,
    "summary": briefs.build_group,
    "messages": messages.build_group,
    "scenes": scenes.build_group,
    "topics": topics.build_group,
    "knowledge": knowledge.build_group,
    "facts": facts.build_group,
    "profile": profile.build_group,
    "capability": capability.build_group,
    "trajectory": trajectory.build_group,
    "dreams": dreaming.build_group,
    "imports": transfer.build_group,
    "backup": backup.build_group,
    "token": token.build_group,
    "mcp": mcp.build_group,
    "models": models.build_group,
    "config": config.build_group,
}


def build_app() -> typer.Typer:
    """The command line, drawn with rich only where it ends up on a terminal."""
    app = typer.Typer(
        cls=_Commands,
        help=_ABOUT,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich" if _is_drawn() else None,
        context_settings={"help_option_names": ["--help", "-h"]},
    )
    app.callback(invoke_without_command=True)(root)
    return app


def _make(name: str) -> Any:
    """A command or group as the parser has it. It takes a millisecond, so that only what is asked for is made."""
    markup: Any = "rich" if _is_drawn() else None
    if name in _GROUPS:
        group = _GROUPS[name]()
        group.info.name, group.rich_markup_mode = name, markup
        return typer.main.get_group(group)
    alone = typer.Typer(add_completion=False, rich_markup_mode=markup)
    alone.command(name)(_COMMANDS[name])
    return typer.main.get_command(alone)


class _Commands(Root):
    makers = {name: partial(_make, name) for name in (*_COMMANDS, *_GROUPS)}


def _is_drawn() -> bool:
    return is_fancy(sys.stdout) and is_fancy(sys.stderr)


def main() -> None:
    """Run the command line and exit; see `exit_codes`."""
    if sys.argv[1:2] == ["hook"] and not {"--help", "-h"} & set(sys.argv):
        hook.main(sys.argv[2:])  # it ends with 0 whatever is typed
    prepare_streams()
    completion.prepare()
    try:
        build_app()(prog_name="memhop")
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        sys.exit(FAILED)
    except OSError as error:
        print(f"memhop: {clean(str(error))}", file=sys.stderr)
        sys.exit(FAILED)
    finally:
        _flush()


def _flush() -> None:
    """Write what is buffered. A reader that went away (`| head`) is no error and leaves no traceback at exit."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
