"""Imported by the server that forks test processes: loads whatever a memory loads at its first use."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest  # noqa: F401

import memhop
import memhop.server.mcp.stdio
import memhop.server.operations
import tests.support.processes  # noqa: F401

with tempfile.TemporaryDirectory() as _folder, memhop.DB.open(Path(_folder, "a.meh"), durability="none") as _db:
    _db.remember_many(["a note on kayaks", "a note on walnuts, 把機器"])
    _db.update(_db.search("where are the kayaks?").new_topic_id, "in the shed")
    _db.recall("kayaks")
    _db.notes.list()
    _db.compact()
    _db.verify(deep=True)
