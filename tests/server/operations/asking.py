"""Asking operations as a client does."""

from __future__ import annotations

from typing import Any

from memhop import DB
from memhop.server.operation import Host, Operation
from memhop.server.operations import OPERATIONS
from memhop.server.reply import Reply

HOST = Host()


class Client:
    """One client of one memory."""

    def __init__(self, db: DB, host: Host = HOST) -> None:
        self.db = db
        self.host = host

    def reply(self, name: str, /, **arguments: Any) -> Reply:
        """Whatever comes back."""
        return OPERATIONS[name].call(self.host, self.db, arguments)

    def __call__(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """The data of an answer that is no error."""
        found = self.reply(name, **arguments)
        assert not found.failed, found.text
        return found.data

    def text(self, name: str, /, **arguments: Any) -> str:
        """The text of an answer that is no error."""
        found = self.reply(name, **arguments)
        assert not found.failed, found.text
        return found.shown()

    def refusal(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """The data of an error."""
        found = self.reply(name, **arguments)
        assert found.failed, found.text
        return found.data

    def noted(self, text: str, **more: Any) -> str:
        """Store a note; its id."""
        return str(self("memhop_remember", text=text, **more)["id"])


def every_page(client: Client, name: str, /, **arguments: Any) -> list[dict[str, Any]]:
    """All items of a listing, page by page."""
    items: list[dict[str, Any]] = []
    cursor = None
    while True:
        page = client(name, **arguments, **({"cursor": cursor} if cursor else {}))
        items += page["items"]
        cursor = page["next"]
        if cursor is None:
            return items


def owned(*modules: str) -> dict[str, Operation]:
    """The operations of some modules of the folder."""
    return {name: one for name, one in OPERATIONS.items() if one.run.__module__.rpartition(".")[2] in modules}
