"""Taking in what others exported, and giving out what is here. Both are in the reply or the request itself.

No path of a client is ever opened. What is taken in comes with the call, or from the one folder that whoever runs the
server has set aside for it (`Host.imports`), by a plain name.
"""

from __future__ import annotations

import json
import re
import stat
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from memhop.api import results
from memhop.common.errors import InvalidRequest, MemhopError, NotFound
from memhop.server.operation import ADMIN, Answer, Host, operation
from memhop.server.operations.paging import Cursor, DryRun, Limit, ProjectAsked, asked
from memhop.server.parameters import Choice, Text, Whole
from memhop.server.telling import one_line, paged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memhop.api.db import DB

MOST_INLINE = 4_000_000  # characters of what comes with the call
MOST_FILE = 64 * 1024 * 1024  # bytes of a file of the folder for imports
EXPORTED = 8_000  # characters of records that fit a reply
_WHOLE = "for all of it at once: memhop export, or the download of the REST interface"
_ON_CONFLICT = ("newer", "overwrite", "skip")
_NAME = re.compile(r"[^./\\:\x00-\x1f][^/\\:\x00-\x1f]{0,199}")
_LINE = re.compile(rb'\{"id":"([0-9a-f]{16})","kind":"([a-z_]+)"')
_ID = re.compile(r"[0-9a-f]{16}")
ImportNumber = Annotated[int, Whole("The import, as memhop_import_list counts them.", 1, 2**53)]


@operation("memhop_import", title="Import", scope=ADMIN, idempotent=True, result=results.ImportReport)
def import_(
    host: Host,
    db: DB,
    *,
    content: Annotated[
        str | None, Text("What is to be taken in, at most 4,000,000 characters: JSON lines, JSON or Markdown.")
    ] = None,
    file: Annotated[
        str | None, Text("In place of content: the plain name of a file in the folder for imports, at most 64 MiB.")
    ] = None,
    format: Annotated[
        str | None, Text("memhop for an export of a memory, or another that the guide names. Default: by what it is.")
    ] = None,
    project: Annotated[
        str | None, Text('Put notes and messages into this project. "*": where the source has them.')
    ] = None,
    on_conflict: Annotated[
        str, Choice("What becomes of what is here and says something else.", _ON_CONFLICT)
    ] = "newer",
    dry_run: DryRun = False,
) -> Answer:
    """Take in an export of a memory, or what another program exported. Doing it twice changes nothing, and
    memhop_import_undo takes it back. For single notes: memhop_remember. What is larger: `memhop import`, where the
    server runs. Example: {"content": "# Boat\\n\\n- painted with epoxy", "format": "markdown", "dry_run": true}"""
    if (content is None) == (file is None):
        raise InvalidRequest("one of the two says what", field="content", allowed="content or file")
    with _source(host, content, file) as path:
        try:
            done = db.import_(path, format=format, project=asked(project), on_conflict=on_conflict, dry_run=dry_run)
        except MemhopError as error:
            given = "content" if file is None else "file"
            error.message = error.message.replace(str(path), given)
            error.field = given if error.field == "path" else error.field
            raise
    data = done.to_dict()
    if not host.local or file is None:
        del data["rejects_path"]
    counts = ("created", "updated", "unchanged", "skipped", "rejected")
    said = ", ".join(f"{data[name]} {name}" for name in counts)
    would = "; dry run: nothing of it was done" if dry_run else ""
    problems = [f"{one_line(one.place, 60)}: {one_line(one.reason)}" for one in done.problems[:20]]
    return data, "\n".join((f"{done.format}: {done.read} read, {said}{would}", *problems))


@operation("memhop_import_list", title="List imports", scope=ADMIN, reads=True, result=results.Page)
def import_list(host: Host, db: DB, *, limit: Limit = 20, cursor: Cursor = None) -> Answer:
    """List what was imported, the newest first. Example: {}"""
    return paged(
        db.imports.list(limit=limit, cursor=cursor),
        results.ImportEntry.to_dict,
        lambda one: (
            f"{one.number} {one.to_dict()['at']} {one.format} {one_line(one.source, 60)} ({one.state}): "
            f"{one.created} created, {one.updated} updated, {one.rejected} rejected"
        ),
        nothing="nothing was imported",
    )


@operation(
    "memhop_import_show", title="Read what an import wrote", scope=ADMIN, reads=True, result=results.ImportChanges
)
def import_show(host: Host, db: DB, *, number: ImportNumber) -> Answer:
    """Read which records an import wrote, before you take it back. Example: {"number": 2}"""
    found = db.imports.show(number)
    kinds = [f"{kind} {len(ids)}" for kind, ids in (*found.created.items(), *found.updated.items())]
    return (
        found.to_dict(),
        f"{', '.join(kinds) or 'nothing is left of it'}; {found.changed} changed since, {found.gone} gone",
    )


@operation("memhop_import_undo", title="Undo an import", scope=ADMIN, destructive=True, result=results.ImportUndone)
def import_undo(host: Host, db: DB, *, number: ImportNumber) -> Answer:
    """Take an import back as one, when it was the wrong file or project. What was changed since stays, and is told.
    Example: {"number": 2}"""
    done = db.imports.undo(number)
    return (
        {"ok": True} | done.to_dict(),
        f"{done.removed} records are gone, {done.reverted} are as before, {done.stayed_in_all} stay",
    )


@operation("memhop_export", title="Export", scope=ADMIN, reads=True)
def export(
    host: Host,
    db: DB,
    *,
    project: ProjectAsked = None,
    cursor: Cursor = None,
    max_chars: Annotated[int, Whole("Most characters of the records of this page.", 1_000, 900_000)] = EXPORTED,
) -> Answer:
    """Read the records of all layers, page by page, as an export has them: the first page's `header`, then each of
    `items`, one line of JSON each, are a file that memhop_import takes. For a whole memory, `memhop export` where the
    server runs, or the download of the REST interface, is the way: a page costs as much as all before it.
    Example: {"project": "boat"}"""
    window = _Window(cursor, max_chars)
    with suppress(_EnoughError):
        db.export(window, project=asked(project))  # type: ignore[arg-type]  # it only ever writes
    items = [json.loads(line) for line in window.lines]
    following = window.next
    data = {
        "header": json.loads(window.header),
        "items": items,
        "next": following,
        "whole": cursor is None and following is None,
    }
    if following is None:
        return data, f"{len(items)} records"
    return data | {"hint": _WHOLE}, f"{len(items)} records, not all (there is more: cursor {following!r}; {_WHOLE})"


class _EnoughError(Exception):
    """The page is full."""


class _Window:
    """A stream that keeps the lines behind a place until it has enough.

    Places are those of records (kind, id) and not of lines, so that writing between two pages moves nothing: whatever
    is there all the time comes exactly once.
    """

    def __init__(self, cursor: str | None, most: int) -> None:
        self.header = b""
        self.lines: list[bytes] = []
        self._most, self._size, self._rest = most, 0, b""
        self._last: tuple[str, str] | None = None
        self._more = False
        from memhop.api.export import KINDS

        self._kinds = KINDS
        self._after = (-1, "")
        if cursor is not None:
            kind, _, id_ = cursor.partition(".")
            if kind not in KINDS or not _ID.fullmatch(id_):
                raise InvalidRequest("not a cursor", field="cursor", allowed="`next` of the page before")
            self._after = (KINDS.index(kind), id_)

    @property
    def next(self) -> str | None:
        """The cursor of the following page; None: this is the last one."""
        return f"{self._last[0]}.{self._last[1]}" if self._more and self._last is not None else None

    def write(self, chunk: bytes) -> int:
        """Take a part of the export."""
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            if not self.header:
                self.header = line
            else:
                self._take(line)
        return len(chunk)

    def _take(self, line: bytes) -> None:
        match = _LINE.match(line)
        assert match is not None, "a line of an export begins with its id and kind"
        id_, kind = match[1].decode(), match[2].decode()
        if (self._kinds.index(kind), id_) <= self._after:
            return
        if self.lines and self._size + len(line) > self._most:
            self._more = True
            raise _EnoughError
        self.lines.append(line)
        self._size += len(line)
        self._last = (kind, id_)


@contextmanager
def _source(host: Host, content: str | None, file: str | None) -> Iterator[Path]:
    """Where to read from. What came with the call is put into a private folder for as long as that takes."""
    if file is not None:
        yield _of_folder(host, file)
        return
    assert content is not None
    if len(content) > MOST_INLINE:
        raise InvalidRequest(
            f"{len(content):,} characters are too many", field="content", allowed=f"at most {MOST_INLINE:,}",
            hint="memhop import, where the server runs, takes what is larger",
        )  # fmt: skip
    try:
        data = content.encode()
    except UnicodeEncodeError as error:
        raise InvalidRequest(
            f"character {error.start} is a lone surrogate", field="content", allowed="valid Unicode"
        ) from None
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="memhop-import-") as folder:
        path = Path(folder) / "inline.txt"
        path.touch(mode=0o600)
        path.write_bytes(data)
        yield path


def _of_folder(host: Host, name: str) -> Path:
    """A file of the folder for imports: a regular one, directly in it."""
    if host.imports is None:
        raise InvalidRequest("this server imports no files", field="file", allowed="content")
    if not _NAME.fullmatch(name):
        raise InvalidRequest(
            "it is no plain name", field="file", allowed="the name of a file in the folder for imports"
        )
    path = host.imports / name
    try:
        found = path.lstat()
    except (OSError, ValueError):
        raise NotFound("there is no such file in the folder for imports", field="file") from None
    if not stat.S_ISREG(found.st_mode):
        raise InvalidRequest("it is no regular file", field="file", allowed="a file; neither a link nor a folder")
    if found.st_size > MOST_FILE:
        raise InvalidRequest(f"{found.st_size:,} bytes are too many", field="file", allowed=f"at most {MOST_FILE:,}")
    return path
