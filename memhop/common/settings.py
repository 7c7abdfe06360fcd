"""`Config`: how a memory behaves, as plain checked values. Where they come from is in `common/settings_file.py`.

Each option is a field of a section, with what it takes; `[section] option = value` in `memhop.toml`. The library reads
no file and no environment by itself: `DB.open(config=None)` means the defaults, which keep everything for ever.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

FOREVER = 0  # days


def option(default: Any, about: str, **bounds: Any) -> Any:
    """A field of a section.

    Args:
        about: What it is for, in one line.
        bounds: `low` and `high` of a number, `choices` of a name; of a table, those of each value in it.
    """
    metadata = {"about": about, **bounds}
    if callable(default):
        return field(default_factory=default, metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, slots=True)
class MemorySection:
    """How the file is opened by the command line and the servers."""

    file: str = option("memory.meh", "The memory, a .meh file; ~ allowed.")
    durability: str = option("full", "What a returned call means.", choices=("full", "relaxed", "none"))
    wait: float = option(10.0, "Seconds a write waits for its turn.", low=0.0, high=3600.0)
    max_bytes: int = option(0, "Refuse writes that would make the file larger; 0: no limit.", low=0, high=1 << 62)
    actor: str = option("", "Who is said to have made a change.")
    embedder: str = option("none", "none, hash, local, minilm or onnx:FOLDER.")


@dataclass(frozen=True, slots=True)
class RecallSection:
    """Defaults of `recall` and of listings."""

    limit: int = option(10, "Most hits.", low=1, high=1000)
    token_budget: int = option(2000, "Room for the packed context, in tokens.", low=0, high=100_000)
    universal: str = option("universal", 'The project that is searched along with any other; "": none.')
    page: int = option(50, "Items of one page of a listing.", low=1, high=1000)


@dataclass(frozen=True, slots=True)
class NotesSection:
    """What `remember` does."""

    dedupe: str = option("exact", "Whether the same words are one note.", choices=("exact", "off"))
    quotes: str = option(
        "recognise", "Whether text that only repeats recalled memories is stored again.", choices=("recognise", "off")
    )


@dataclass(frozen=True, slots=True)
class RetentionSection:
    """What goes to the trash by itself, and out of it. Nothing does unless told to."""

    days: Mapping[str, int] = option(dict, "Days after their last change, by kind; 0: never.", low=0, high=36_500)
    projects: Mapping[str, Mapping[str, int]] = option(dict, "The same, for single projects.", low=0, high=36_500)
    trash_days: int = option(FOREVER, "Days in the trash before a note is erased; 0: never.", low=0, high=36_500)
    every_hours: float = option(24.0, "How often this is looked after; 0: only by `maintain`.", low=0.0, high=8760.0)

    @property
    def sets_anything(self) -> bool:
        """Whether anything ever goes."""
        return bool(self.days or self.projects or self.trash_days)


@dataclass(frozen=True, slots=True)
class SummarySection:
    """When a progressive summary is due, and what it is made of."""

    turns: int = option(10, "Turns since the last one.", low=1, high=10_000)
    context_pct: int = option(20, "Percent of the context window left.", low=0, high=100)
    items: int = option(50, "Most changes listed.", low=1, high=1000)
    decisions: int = option(3, "Decisions a brief names per project.", low=0, high=100)


@dataclass(frozen=True, slots=True)
class SecretsSection:
    """What becomes of secrets in texts that are to be stored. `<private>` spans are never stored."""

    policy: str = option("mask", "mask, refuse or allow.", choices=("mask", "refuse", "allow"))
    projects: Mapping[str, str] = option(dict, "The policy of single projects.", choices=("mask", "refuse", "allow"))


@dataclass(frozen=True, slots=True)
class NotifySection:
    """Who is told of changes."""

    subscribers: tuple[str, ...] = option((), "Names; each has ~/.NAME/manifest.json with a notifyEndpoint.")
    allow_remote: bool = option(False, "Whether endpoints may be on other machines.")
    timeout: float = option(2.0, "Seconds a subscriber may take.", low=0.1, high=60.0)


@dataclass(frozen=True, slots=True)
class BackupsSection:
    """Automatic copies; see `memhop.Backups`."""

    folder: str = option("", 'Where they go, ~ allowed; "": none are made.')
    every_commits: int = option(1000, "One after so many commits.", low=1, high=1_000_000_000)
    every_hours: float = option(24.0, "One after so many hours.", low=0.01, high=8784.0)
    keep: int = option(5, "Newest copies kept.", low=1, high=1000)


@dataclass(frozen=True, slots=True)
class ModelSection:
    """The chat model that the command line gives to `dream`. Its key is never in a file."""

    name: str = option("", 'Model name; "": none is used.')
    base_url: str = option("", 'Of an OpenAI-compatible service; "": that of OpenAI.')
    key_command: str = option("", "A command that prints the key, such as that of a keyring.")


@dataclass(frozen=True, slots=True)
class ServerSection:
    """Many memories in one process: `memhop serve`."""

    root: str = option("memories", "The folder of the memories, one file per tenant; ~ allowed.")
    host: str = option("127.0.0.1", "The address it listens at.")
    port: int = option(8377, "The port; 0: any that is free.", low=0, high=65535)
    allow_hosts: tuple[str, ...] = option((), "Names by which it may be asked, beside those of this machine.")
    allow_origins: tuple[str, ...] = option((), "Web pages that may ask it, such as https://app.example.")
    tools: str = option("core", "What it shows over MCP.", choices=("core", "notes", "full", "hemisphere"))
    imports: str = option("", 'A folder; each tenant may import files of the folder in it that has its name. "": none.')
    most_open: int = option(50, "Memories open at a time.", low=1, high=10_000)
    idle_seconds: float = option(300.0, "After so long without a request a memory is closed.", low=0.1, high=86_400.0)
    readers: int = option(4, "Reading requests of one tenant that run at a time.", low=1, high=64)
    queue: int = option(64, "Requests of one tenant that may wait; more are refused as busy.", low=0, high=10_000)
    request_seconds: float = option(30.0, "Longest wait of a client for an answer.", low=0.1, high=3600.0)
    stop_seconds: float = option(10.0, "Time for running requests when it is stopped.", low=0.0, high=3600.0)
    body_bytes: int = option(4 << 20, "Largest body of a request.", low=1024, high=1 << 30)
    connections: int = option(256, "Connections of one address at a time.", low=1, high=100_000)
    rate: float = option(1000.0, "Requests per second of a token; of an address twice as many.", low=0.1, high=1e6)
    listeners: int = option(200, "Who listens to events at a time.", low=0, high=100_000)
    listeners_of_one: int = option(20, "Who listens to events of one memory at a time.", low=0, high=100_000)
    heartbeat_seconds: float = option(15.0, "A listener hears something at least so often.", low=0.1, high=600.0)
    metrics_by_tenant: bool = option(False, "Whether /metrics names tenants.")


@dataclass(frozen=True, slots=True)
class McpSection:
    """What `memhop mcp` shows a client."""

    tools: str = option("core", "The set of tools.", choices=("core", "notes", "full", "hemisphere"))
    project: str = option(
        "",
        'Where notes belong and are looked for, if a call names no project; "": in default, and in all.',
    )


@dataclass(frozen=True, slots=True)
class Config:
    """Everything that can be set. `schemas` are the kinds of notes by project, see `repo/schema.py`."""

    memory: MemorySection = field(default_factory=MemorySection)
    recall: RecallSection = field(default_factory=RecallSection)
    notes: NotesSection = field(default_factory=NotesSection)
    retention: RetentionSection = field(default_factory=RetentionSection)
    summary: SummarySection = field(default_factory=SummarySection)
    secrets: SecretsSection = field(default_factory=SecretsSection)
    notify: NotifySection = field(default_factory=NotifySection)
    backups: BackupsSection = field(default_factory=BackupsSection)
    model: ModelSection = field(default_factory=ModelSection)
    server: ServerSection = field(default_factory=ServerSection)
    mcp: McpSection = field(default_factory=McpSection)
    schemas: Mapping[str, Any] = field(default_factory=dict)
