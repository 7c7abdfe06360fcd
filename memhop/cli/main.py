"""The entry point of `memhop`."""

from __future__ import annotations

import os
import sys

import typer

from memhop.cli import backup, commands, config, demo, doctor, erase, models, past, transfer, upkeep
from memhop.cli.exit_codes import FAILED, INTERRUPTED
from memhop.cli.output import clean, is_fancy, prepare_streams
from memhop.cli.root import Root, root

_ABOUT = (
    "Long-term memory for AI agents: one agent, one file, no server, no model needed.\n\n"
    "The file is --file, else the environment's MEMHOP_FILE, else that of memhop.toml, else memory.meh in this folder. "
    "Options may stand before a command or behind it. "
    "Exit codes: 0 done, 1 nothing found or failed, 2 usage, 3 the file is locked by another process."
)


def build_app() -> typer.Typer:
    """The command line, drawn with rich only where it ends up on a terminal."""
    app = typer.Typer(
        cls=Root,
        help=_ABOUT,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich" if is_fancy(sys.stdout) and is_fancy(sys.stderr) else None,
        context_settings={"help_option_names": ["--help", "-h"]},
    )
    app.callback(invoke_without_command=True)(root)
    app.command()(demo.demo)
    app.command()(commands.remember)
    app.command()(commands.recall)
    app.add_typer(past.build_group(), name="at")
    app.command()(erase.forget)
    app.command()(erase.purge)
    app.command()(transfer.export)
    app.command("import")(transfer.import_)
    app.add_typer(transfer.build_group(), name="imports")
    app.command()(commands.stats)
    app.command()(upkeep.verify)
    app.command()(upkeep.repair)
    app.command()(upkeep.compact)
    app.add_typer(backup.build_group(), name="backup")
    app.add_typer(models.build_group(), name="models")
    app.command()(doctor.doctor)
    app.add_typer(config.build_group(), name="config")
    return app


def main() -> None:
    """Run the command line and exit; see `exit_codes`."""
    prepare_streams()
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
