"""What the API returns: frozen dataclasses, plain values, `to_dict()` for JSON.

Ids are 16 hex digits. Times are Unix milliseconds UTC as ints, and ISO-8601 strings in `to_dict()` (fields named
`at`, `valid_from`, `valid_to` or ending in `_at`). Absent values are None, never 0 or "".

    base      Result and Page                     layers    records of the layers
    recall    what recall and search return       knowledge graphs, nodes, edges and facts
    erasure   what forgetting returns
    upkeep    statistics, checks, copies, repair
"""

from memhop.api.results.base import Page, Result
from memhop.api.results.erasure import Forgotten, Purged, Receipt
from memhop.api.results.knowledge import (
    Fact,
    Graph,
    Imported,
    ImportFault,
    KnowledgeEdge,
    KnowledgeNode,
    NodesFound,
    Path,
    Subgraph,
)
from memhop.api.results.layers import Capability, Event, Message, Note, Profile, Scene, Topic
from memhop.api.results.recall import AssociatedScene, Channel, Explanation, Hit, Recall, SearchResult
from memhop.api.results.upkeep import (
    BackfillReport,
    Backup,
    BackupFile,
    Compacted,
    Diagnosis,
    Finding,
    Lost,
    Mended,
    Pending,
    Problem,
    Recovered,
    Repaired,
    Restored,
    SpaceUse,
    Stats,
    Verified,
)

__all__ = [
    "AssociatedScene",
    "BackfillReport",
    "Backup",
    "BackupFile",
    "Capability",
    "Channel",
    "Compacted",
    "Diagnosis",
    "Event",
    "Explanation",
    "Fact",
    "Finding",
    "Forgotten",
    "Graph",
    "Hit",
    "ImportFault",
    "Imported",
    "KnowledgeEdge",
    "KnowledgeNode",
    "Lost",
    "Mended",
    "Message",
    "NodesFound",
    "Note",
    "Page",
    "Path",
    "Pending",
    "Problem",
    "Profile",
    "Purged",
    "Recall",
    "Receipt",
    "Recovered",
    "Repaired",
    "Restored",
    "Result",
    "Scene",
    "SearchResult",
    "SpaceUse",
    "Stats",
    "Subgraph",
    "Topic",
    "Verified",
]
