"""Notes: storing, reading, changing, taking away."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from memhop.api import results
from memhop.server.operation import WRITE, Answer, Host, operation
from memhop.server.parameters import Listed, Table, Text

if TYPE_CHECKING:
    from memhop.api.db import DB


@operation("memhop_remember", title="Remember", scope=WRITE, idempotent=True, result=results.Note)
def remember(
    host: Host,
    db: DB,
    *,
    text: Annotated[str, Text("What to keep, in words that can be understood without this conversation.")],
    project: Annotated[str, Text("Where it belongs.")] = "default",
    kind: Annotated[str, Text("note, fact, decision, bug, plan, insight, preference or identity.")] = "note",
    tags: Annotated[list[str] | None, Listed("Words to find it by.", Text(""))] = None,
    metadata: Annotated[dict[str, Any] | None, Table("More about it, such as a reason.")] = None,
) -> Answer:
    """Store one lasting thing. ..."""
    note = db.remember(text, project=project, kind=kind, tags=tags or (), metadata=metadata)
    return note.to_dict(), f"{'remembered' if note.created else 'known already'}: {note.id}"
