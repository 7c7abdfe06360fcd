"""Options that several commands share, and how what was typed becomes values."""

from __future__ import annotations

import os
import sys
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from memhop.common.config import LIMITS, check_choice
from memhop.common.errors import InvalidRequest

if TYPE_CHECKING:
    import memhop

    Embedder: TypeAlias = memhop.HashEmbedder | memhop.LocalEmbedder | memhop.OnnxEmbedder

DEFAULT_FILE = Path("memory.meh")
DEFAULT_ROOT = Path("memories")
DEFAULT_WAIT_S = 10.0
EMBEDDERS = ("none", "hash", "local", "minilm")
ONNX_PREFIX = "onnx:"  # before the folder of a model

FileOption = Annotated[
    Path, typer.Option("--file", "-f", metavar="PATH", help="The memory, a .meh file; default: see `memhop --help`.")
]
RootOption = Annotated[
    Path, typer.Option("--root", metavar="FOLDER", help="The folder of the memories; one file per tenant.")
]
WaitOption = Annotated[
    float,
    typer.Option("--wait", metavar="SECONDS", help="Longest wait for another process to finish writing, 0..3600."),
]
EmbedderOption = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="none, hash, local, minilm (see `memhop models`) or onnx:FOLDER: also look by meaning.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
IdArgument = Annotated[str, typer.Argument(metavar="ID", help="Its id, or the first 6 digits or more of it.")]
LimitOption = Annotated[int, typer.Option("--limit", metavar="N", help="Most of them, 1..1000.")]
CursorOption = Annotated[
    str | None, typer.Option("--cursor", metavar="CURSOR", help="Go on where a page ended, which said so.")
]
ProjectOption = Annotated[str | None, typer.Option("--project", metavar="NAME", help="Only this project.")]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Only tell what would be done.")]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
DEFAULT_PAGE = 50


def embedder_called(name: str) -> Embedder | None:
    """The embedder of this name, None for "none".

    Raises:
        InvalidRequest: no such name. ConfigError: the extra or the model it needs is not installed.
    """
    import memhop

    check_embedder(name)
    if name == "none":
        return None
    if name == "hash":
        return memhop.HashEmbedder()
    if name == "local":
        return memhop.LocalEmbedder()
    if name.startswith(ONNX_PREFIX):
        return memhop.OnnxEmbedder(Path(name.removeprefix(ONNX_PREFIX)).expanduser())
    from memhop.api.models import installed_embedder

    return installed_embedder(name, models_directory())


def models_directory() -> Path:
    """Where installed models are."""
    from memhop.api import models

    return models.models_directory(os.environ)


def check_embedder(name: str) -> str:
    """The name of an embedder, or "none". Raises InvalidRequest."""
    if name.startswith(ONNX_PREFIX) and len(name) > len(ONNX_PREFIX):
        return name
    return check_choice(name, field="--embedder", choices=(*EMBEDDERS, f"{ONNX_PREFIX}FOLDER"))


def parse_time(value: str | None, *, field: str) -> datetime | None:
    """ISO-8601 to an aware time. A time without a zone is this machine's local time; a date is its midnight."""
    if value is None:
        return None
    try:
        return datetime.fromisoformat(value.strip()).astimezone()
    except (ValueError, OverflowError, OSError):
        raise InvalidRequest(
            f"{value!r:.40} is not a time", field=field, allowed="ISO-8601, such as 2026-05-10 or 2026-05-10T08:30:00Z"
        ) from None


def typed(text: str) -> str:
    """Words from the command line. Where the locale is not UTF-8, Python leaves their bytes as surrogates."""
    try:
        return text if not any("\udc80" <= char <= "\udcff" for char in text) else os.fsencode(text).decode("utf-8")
    except UnicodeError:
        return text


def words_of(text: str) -> str:
    """What was typed, or for "-" what standard input has, which is read once."""
    return read_stdin() if text == "-" else typed(text)


@cache
def read_stdin() -> str:
    """All of standard input, as UTF-8, without the last line end.

    Raises:
        InvalidRequest: not UTF-8, or longer than a text may be.
    """
    data = sys.stdin.buffer.read(LIMITS.text_bytes + 3)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        if len(data) <= LIMITS.text_bytes:
            raise InvalidRequest(f"byte {error.start} is not UTF-8", field="standard input", allowed="UTF-8") from None
        text = data.decode("utf-8", "ignore")
    return text.removesuffix("\n").removesuffix("\r")
