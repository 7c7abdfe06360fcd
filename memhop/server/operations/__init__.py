"""The operations, a module per layer; each enters its own into the table when it is imported."""

from memhop.server.operation import TABLE
from memhop.server.operations import (  # noqa: F401  (they fill the table)
    capabilities,
    dreams,
    edges,
    facts,
    knowledge,
    messages,
    note_life,
    note_links,
    notes,
    profile,
    projects,
    recalling,
    remembering,
    scenes,
    summary,
    topics,
    trajectory,
    transfer,
    turns,
    upkeep,
)

OPERATIONS = TABLE
