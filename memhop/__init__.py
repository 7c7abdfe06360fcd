"""MemHop: long-term memory for AI agents. One agent, one file, no server, no model needed.

    import memhop
    with memhop.DB.open("agent.meh") as db:
        db.remember("Mara is allergic to walnuts")
        print(db.recall("what must Mara not eat?").context)

Where things are; arrows point down, and a test keeps it so:

    cli/       the `memhop` command                       the only code that sees arguments and environment
    server/    MCP and HTTP: operations, tenants, tokens  the only code that sees sockets
    api/       DB, its namespaces, result types           checks arguments, returns plain data
    dream/     consolidation: stages plan, a journal undoes  proposes; the rules of dream/guard.py decide
    search/    recall and the agent loop                  questions in, ranked hits out; writes only the turn
    models/    embedders, chat, doing without them        the outside world; everything it says is checked
    repo/      the eight layers as records, the Store     the only writer; where bytes meet indexes
    index/     tokenizer, BM25, vectors, fuzzy, groups    pure structures that can be rebuilt
    core/      the .meh file: frames, commits, segments   bytes on disk; knows nothing of memory
    common/    errors, ids, clock, limits                 imports nothing of ours

The eight layers: L0 profile, L1 engrams (association), L2 scenes and topics, L3 knowledge, L4 messages and notes,
L5 capability cards, L6 usage, L7 trajectory; each has its file in repo/.

Names below are loaded when first used: `import memhop` itself costs about a millisecond.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memhop.common.errors import (
    BadFormat,
    Busy,
    ChatError,
    Closed,
    ConfigError,
    Conflict,
    Corrupt,
    EmbedderError,
    Forbidden,
    InvalidRequest,
    Locked,
    MemhopError,
    NotFound,
    ProviderError,
    StorageError,
    TimedOut,
    VectorSpaceMismatch,
    WriteRefused,
)

if TYPE_CHECKING:
    from memhop.api import backups
    from memhop.api.backups import Backups
    from memhop.api.db import DB
    from memhop.api.doctor import doctor
    from memhop.api.dreaming import Dreaming
    from memhop.api.repair import repair
    from memhop.common.settings import Config
    from memhop.common.settings_file import load_config
    from memhop.models.chat_ollama import OllamaChat
    from memhop.models.chat_openai import OpenAIChat
    from memhop.models.embed import HashEmbedder
    from memhop.models.embed_http import OllamaEmbedder, OpenAIEmbedder
    from memhop.models.embed_local import LocalEmbedder
    from memhop.models.embed_onnx import OnnxEmbedder
    from memhop.models.metered import Budget

__version__ = "0.1.0"

_LAZY = {
    "Backups": "memhop.api.backups",
    "Budget": "memhop.models.metered",
    "Config": "memhop.common.settings",
    "DB": "memhop.api.db",
    "Dreaming": "memhop.api.dreaming",
    "HashEmbedder": "memhop.models.embed",
    "LocalEmbedder": "memhop.models.embed_local",
    "OllamaChat": "memhop.models.chat_ollama",
    "OllamaEmbedder": "memhop.models.embed_http",
    "OnnxEmbedder": "memhop.models.embed_onnx",
    "OpenAIChat": "memhop.models.chat_openai",
    "OpenAIEmbedder": "memhop.models.embed_http",
    "doctor": "memhop.api.doctor",
    "load_config": "memhop.common.settings_file",
    "repair": "memhop.api.repair",
}

__all__ = [
    "DB",
    "Backups",
    "BadFormat",
    "Budget",
    "Busy",
    "ChatError",
    "Closed",
    "Config",
    "ConfigError",
    "Conflict",
    "Corrupt",
    "Dreaming",
    "EmbedderError",
    "Forbidden",
    "HashEmbedder",
    "InvalidRequest",
    "LocalEmbedder",
    "Locked",
    "MemhopError",
    "NotFound",
    "OllamaChat",
    "OllamaEmbedder",
    "OnnxEmbedder",
    "OpenAIChat",
    "OpenAIEmbedder",
    "ProviderError",
    "StorageError",
    "TimedOut",
    "VectorSpaceMismatch",
    "WriteRefused",
    "__version__",
    "backups",
    "doctor",
    "load_config",
    "repair",
]


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    if name == "backups":
        return import_module("memhop.api.backups")
    raise AttributeError(f"module 'memhop' has no attribute {name!r}")
