"""What can be read by address. Each address is an operation with arguments, so that it is read by the same way as any
tool, with the same checks and limits."""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

from memhop.server.operation import Operation

_MOST = 200  # characters of an address


class Address(NamedTuple):
    """A kind of address.

    Attributes:
        uri: With {id} where something is to be named.
        operation: The name of what reads it.
        argument: What the operation calls the id.
    """

    uri: str
    operation: str
    name: str
    title: str
    about: str
    argument: str = "id"

    @property
    def names_something(self) -> bool:
        """Whether it is a template."""
        return "{id}" in self.uri

    def match(self, uri: str) -> dict[str, str] | None:
        """The arguments an address names; None: it is no such address."""
        if not self.names_something:
            return {} if uri == self.uri else None
        before, _, after = self.uri.partition("{id}")
        found = re.fullmatch(f"{re.escape(before)}([^/]+){re.escape(after)}", uri)
        return found and {self.argument: unquote(found[1])}


ADDRESSES: Final = (
    Address(
        "memhop://brief", "memhop_brief", "brief", "Brief", "What the memory holds, in short: where a session begins."
    ),
    Address("memhop://note/{id}", "memhop_note_get", "note", "Note", "A note, by its id."),
    Address(
        "memhop://scene/{id}", "memhop_scene_topics", "scene", "Scene", "A scene and its topics, by its id.", "scene_id"
    ),
)


def known() -> tuple[Address, ...]:
    """The addresses whose operations there are."""
    operations = _operations()
    return tuple(one for one in ADDRESSES if one.operation in operations)


def find(uri: str) -> tuple[Operation, dict[str, Any]] | None:
    """What reads an address: an operation and its arguments. None: there is no such address."""
    if len(uri) > _MOST:
        return None
    for one in known():
        arguments = one.match(uri)
        if arguments is not None:
            return _operations()[one.operation], arguments
    return None


def _operations() -> dict[str, Operation]:
    from memhop.server.operations import OPERATIONS

    return OPERATIONS
