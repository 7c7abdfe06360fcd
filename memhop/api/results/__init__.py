"""What the API returns: frozen dataclasses, plain values, `to_dict()` for JSON.

Ids are 16 hex digits. Times are Unix milliseconds UTC as ints, and ISO-8601 strings in `to_dict()` (fields named
`at` or ending in `_at`). Absent values are None, never 0 or "".

    base      Result and Page                     layers    records of the layers
    recall    what recall and search return       erasure   what forgetting returns
    dreams    dreams and exports
    upkeep    statistics, checks, copies, repair
"""

from memhop.api.results.base import Page, Result
from memhop.api.results.dreams import (
    DreamChange,
    DreamReport,
    Exported,
    FieldChange,
    RecordChange,
    StageReport,
    Stayed,
    Undone,
)
from memhop.api.results.erasure import Forgotten, Purged, Receipt
from memhop.api.results.layers import Capability, Event, Graph, KnowledgeNode, Message, Note, Profile, Scene, Topic
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
    "DreamChange",
    "DreamReport",
    "Event",
    "Explanation",
    "Exported",
    "FieldChange",
    "Finding",
    "Forgotten",
    "Graph",
    "Hit",
    "KnowledgeNode",
    "Lost",
    "Mended",
    "Message",
    "Note",
    "Page",
    "Pending",
    "Problem",
    "Profile",
    "Purged",
    "Recall",
    "Receipt",
    "RecordChange",
    "Recovered",
    "Repaired",
    "Restored",
    "Result",
    "Scene",
    "SearchResult",
    "SpaceUse",
    "StageReport",
    "Stats",
    "Stayed",
    "Topic",
    "Undone",
    "Verified",
]
