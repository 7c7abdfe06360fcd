"""`Operation`: one thing that can be asked of a memory, whatever protocol the question comes by.

    @operation("memhop_note_get", title="Read a note", result=results.Note)
    def note_get(host: Host, db: DB, *, id: Annotated[str, Id("The note.")]) -> Answer:
        '''Read one note whole. Use it when ...'''
        return db.notes.get(id).to_dict()

The docstring is the description that models read: what it does, when to use it and when not, one example. The keywords
are its parameters. What it returns is the data of the reply, or the data and a text, or the data and what makes a text
of it once it is cut to its room; see `Reply`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from memhop.common.errors import MemhopError
from memhop.server.faults import told
from memhop.server.parameters import Parameters
from memhop.server.reply import ROOM, Reply, fitted, within, without_items

if TYPE_CHECKING:
    from memhop.api.db import DB
    from memhop.api.results import Result

READ, WRITE, ADMIN = "read", "write", "admin"  # what a token must allow
SCOPES = (READ, WRITE, ADMIN)
Answer: TypeAlias = "dict[str, Any] | tuple[dict[str, Any], str | Callable[[dict[str, Any]], str]]"


class Host(NamedTuple):
    """What an operation must know of the server it runs in.

    Attributes:
        local: The client is whoever runs the server: it may be told of paths.
        project: The project of whatever names none; None: "default" for what is stored, all for what is looked for.
        imports: The only folder from which files are imported; None: none are.
        page: Items of a page where a call does not say how many, if that is fewer than the operation's own number.
    """

    local: bool = False
    project: str | None = None
    imports: Path | None = None
    page: int | None = None


@dataclass(frozen=True)
class Operation:
    """See the module.

    Attributes:
        name: [a-z0-9_], at most 30 characters: clients put their own prefix in front of it, and have limits.
        title: For people.
        about: For models.
        scope: READ, WRITE or ADMIN.
        reads: It changes nothing, whoever may ask it.
        destructive: It takes away what cannot be brought back, or hides it.
        idempotent: Asking twice does what asking once does.
        result: The shape of the data, for output schemas; None: any object.
        structured: Whether clients get the data beside the text.
        called: Argument of the call below -> parameter, where they differ, so that errors name the parameter.
    """

    name: str
    title: str
    about: str
    run: Callable[..., Answer]
    scope: str = READ
    reads: bool = True
    destructive: bool = False
    idempotent: bool = False
    result: type[Result] | None = None
    structured: bool = True
    called: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def parameters(self) -> Parameters:
        """What it takes. Made when it is first asked for: most of a large table never is."""
        return Parameters(self.run)

    def call(self, host: Host, db: DB, arguments: Mapping[str, Any] | None, *, room: int = ROOM) -> Reply:
        """Ask it. Errors raised on purpose come back as replies that `failed`; so do faults, which are logged.

        Args:
            arguments: As they came.
            room: Most characters of the data of the reply, as JSON; the text may take as much again.
        """
        try:
            values, remarks = self.parameters.bind(arguments, self._session(host))
            return self._answer(host, db, values, remarks, room)
        except MemhopError as error:
            if error.field:
                error.field = re.sub(r"\w+", lambda word: self.called.get(word[0], word[0]), error.field)
            return told(error, local=host.local)
        except Exception as error:  # nothing an operation does may end the server
            return told(error, local=host.local)

    def _session(self, host: Host) -> dict[str, Any]:
        """What stands for arguments that are not given."""
        found: dict[str, Any] = {} if host.project is None else {"project": host.project}
        if host.page is not None and "cursor" in self.parameters.kinds:
            found["limit"] = min(host.page, self.parameters.defaults.get("limit", host.page))
        return found

    def _answer(self, host: Host, db: DB, values: dict[str, Any], remarks: tuple[str, ...], room: int) -> Reply:
        texts: list[str | Callable[[dict[str, Any]], str]] = []

        def ask(limit: int | None) -> dict[str, Any]:
            answer = self.run(host, db, **(values if limit is None else values | {"limit": limit}))
            data, text = answer if isinstance(answer, tuple) else (answer, "")
            texts.append(text)
            return data | {"remarks": [*data.get("remarks", ()), *remarks]} if remarks else data

        limit = values.get("limit", self.parameters.defaults.get("limit"))
        if self.reads and isinstance(limit, int):
            data = within(ask, room, limit)
        else:
            data, fits = fitted(ask(None), room)
            data = data if fits else without_items(data, room)
        said = texts[-1]
        text = said if isinstance(said, str) else said(data)
        if text and remarks:
            text = f"{text}\n({'; '.join(remarks)})"
        if len(text) > room:
            text = f"{text[: room - 80].rstrip()}…\n[{len(text) - room + 80:,} characters were cut: ask for less]"
        return Reply(data, text)


TABLE: dict[str, Operation] = {}  # name -> operation, filled by the modules of operations/


def operation(
    name: str,
    *,
    title: str,
    scope: str = READ,
    reads: bool | None = None,
    destructive: bool = False,
    idempotent: bool | None = None,
    result: type[Result] | None = None,
    structured: bool = True,
    called: Mapping[str, str] | None = None,
    table: dict[str, Operation] = TABLE,
) -> Callable[[Callable[..., Answer]], Callable[..., Answer]]:
    """Make a function an operation; see the module.

    Args:
        reads: None: what has the scope READ.
        idempotent: None: whatever only reads.
        table: Where it is entered.
    """

    only_reads = scope == READ if reads is None else reads

    def enter(run: Callable[..., Answer]) -> Callable[..., Answer]:
        assert name not in table, f"{name} is there already"
        table[name] = Operation(
            name=name,
            title=title,
            about=re.sub(r"(?<!\n)\n(?!\n)", " ", inspect.cleandoc(run.__doc__ or "")),  # lines are for the source
            run=run,
            scope=scope,
            reads=only_reads,
            destructive=destructive,
            idempotent=only_reads if idempotent is None else idempotent,
            result=result,
            structured=structured,
            called=called or {},
        )
        return run

    return enter
