"""What the API returns: frozen dataclasses, plain values, `to_dict()` for JSON.

Ids are 16 hex digits. Times are Unix milliseconds UTC as ints, and ISO-8601 strings in `to_dict()` (fields named
`at`, `valid_from`, `valid_to` or ending in `_at`). Absent values are None, never 0 or "".

    about       ?
    base        Result and Page
    dreams      dreams and what they changed
    erasure     what forgetting returns
    events      ?
    knowledge   graphs, nodes, edges and facts
    layers      records of the layers
    procedures  cards, trajectories, crystallizing
    profile     who the agent is and whom it serves
    projects    ?
    recall      what recall and search return
    scenes      scenes and topics
    transfer    ?
    upkeep      statistics, checks, copies, repair
"""

from memhop.api.results.about import About, Named, Past, Related, VectorState
from memhop.api.results.base import Page, Result
from memhop.api.results.dreams import (
    DreamChange,
    DreamReport,
    Duplicate,
    Exported,
    FieldChange,
    RecordChange,
    StageReport,
    Stayed,
    Undone,
)
from memhop.api.results.erasure import Deleted, Forgotten, Purged, Receipt
from memhop.api.results.events import Events, LogEvent, Subscriber
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
from memhop.api.results.layers import Changed, Message, Note, NoteLink, NoteRevision
from memhop.api.results.procedures import (
    Capability,
    CardMatch,
    Crystallized,
    CrystallizedCard,
    Event,
    ImportedCard,
    ImportedCards,
    Pruned,
    RefusedCard,
    Session,
    TrajectoryStats,
    Usage,
)
from memhop.api.results.profile import Profile, ProfileChange, ProfileLine
from memhop.api.results.projects import (
    Brief,
    BriefItem,
    Maintained,
    Moved,
    OpenItems,
    Project,
    ProjectBrief,
    ProjectCount,
    ProjectPurged,
    ProjectTrashed,
    Restatused,
    Retired,
    SummaryBrief,
    SummaryChange,
    SummaryCheck,
)
from memhop.api.results.recall import AssociatedScene, Channel, Explanation, Hit, Recall, SearchResult
from memhop.api.results.scenes import Scene, SceneContext, Statement, Topic, TopicContext
from memhop.api.results.transfer import ImportChanges, ImportEntry, ImportProblem, ImportReport, ImportUndone
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
    "About",
    "AssociatedScene",
    "BackfillReport",
    "Backup",
    "BackupFile",
    "Brief",
    "BriefItem",
    "Capability",
    "CardMatch",
    "Changed",
    "Channel",
    "Compacted",
    "Crystallized",
    "CrystallizedCard",
    "Deleted",
    "Diagnosis",
    "DreamChange",
    "DreamReport",
    "Duplicate",
    "Event",
    "Events",
    "Explanation",
    "Exported",
    "Fact",
    "FieldChange",
    "Finding",
    "Forgotten",
    "Graph",
    "Hit",
    "ImportChanges",
    "ImportEntry",
    "ImportFault",
    "ImportProblem",
    "ImportReport",
    "ImportUndone",
    "Imported",
    "ImportedCard",
    "ImportedCards",
    "KnowledgeEdge",
    "KnowledgeNode",
    "LogEvent",
    "Lost",
    "Maintained",
    "Mended",
    "Message",
    "Moved",
    "Named",
    "NodesFound",
    "Note",
    "NoteLink",
    "NoteRevision",
    "OpenItems",
    "Page",
    "Past",
    "Path",
    "Pending",
    "Problem",
    "Profile",
    "ProfileChange",
    "ProfileLine",
    "Project",
    "ProjectBrief",
    "ProjectCount",
    "ProjectPurged",
    "ProjectTrashed",
    "Pruned",
    "Purged",
    "Recall",
    "Receipt",
    "RecordChange",
    "Recovered",
    "RefusedCard",
    "Related",
    "Repaired",
    "Restatused",
    "Restored",
    "Result",
    "Retired",
    "Scene",
    "SceneContext",
    "SearchResult",
    "Session",
    "SpaceUse",
    "StageReport",
    "Statement",
    "Stats",
    "Stayed",
    "Subgraph",
    "Subscriber",
    "SummaryBrief",
    "SummaryChange",
    "SummaryCheck",
    "Topic",
    "TopicContext",
    "TrajectoryStats",
    "Undone",
    "Usage",
    "VectorState",
    "Verified",
]
