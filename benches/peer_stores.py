"""Engines that keep texts on the disk, one durable commit a call, behind one small interface.

`indexed` says whether a text can be found by its words when the call returns. Where it cannot (LMDB, a bare file), the
figure is a floor rather than a peer.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import memhop
from benches.peer_words import fts5_table, memvid_memory, tantivy_index


class Store(NamedTuple):
    """An open store: write one text, write many in one commit, close."""

    one: Callable[[str], object]
    many: Callable[[Sequence[str]], object]
    close: Callable[[], object]


class StorePeer(NamedTuple):
    """`open(folder)` makes an empty store."""

    name: str
    module: str
    indexed: bool
    open: Callable[[Path], Store]
    slow: bool = False
    """A call takes so long that it starts empty and is called a few times only."""


def memhop_store(folder: Path) -> Store:
    """Ours: `remember` and `remember_many`, an fsync a call."""
    db = memhop.DB.open(folder / "store.meh")
    return Store(db.remember, db.remember_many, db.close)


def fts5_store(folder: Path, tokenizer: str) -> Store:
    """SQLite FTS5, write-ahead log, synchronous=FULL."""
    connection = fts5_table(folder / f"store-{tokenizer.partition(' ')[0]}.sqlite", tokenizer)
    statement = "INSERT INTO notes (text) VALUES (?)"

    def many(texts: Sequence[str]) -> None:
        connection.execute("BEGIN")
        connection.executemany(statement, [(text,) for text in texts])
        connection.execute("COMMIT")

    return Store(lambda text: connection.execute(statement, (text,)), many, connection.close)


def tantivy_store(folder: Path) -> Store:
    """tantivy: a commit a call, and the searcher brought up to date, for else the text is not found."""
    import tantivy

    index = tantivy_index(folder / "store", stop_words=False)
    writer: Any = index.writer(64_000_000, 1)

    def many(texts: Sequence[str]) -> None:
        for text in texts:
            writer.add_document(tantivy.Document(text=text))
        writer.commit()
        index.reload()

    return Store(lambda text: many([text]), many, lambda: None)


def lmdb_store(folder: Path) -> Store:
    """LMDB, synced: a key and a text, no index of words."""
    import lmdb

    environment = lmdb.open(str(folder / "store.lmdb"), map_size=1 << 30)
    count = 0

    def many(texts: Sequence[str]) -> None:
        nonlocal count
        with environment.begin(write=True) as transaction:
            for text in texts:
                count += 1
                transaction.put(count.to_bytes(8, "big"), text.encode(), append=True)

    return Store(lambda text: many([text]), many, environment.close)


def bare_file(folder: Path) -> Store:
    """write and fdatasync, nothing else."""
    descriptor = os.open(folder / "store.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def many(texts: Sequence[str]) -> None:
        os.write(descriptor, "\n".join(texts).encode())
        os.fdatasync(descriptor)

    return Store(lambda text: many([text]), many, lambda: os.close(descriptor))


def memvid_store(folder: Path) -> Store:
    """memvid-sdk, its lexical index alone."""
    memory = memvid_memory(folder / "store.mv2")

    def one(text: str) -> None:
        memory.put(title="note", label="note", text=text, enable_embedding=False, auto_tag=False, extract_dates=False)

    def many(texts: Sequence[str]) -> None:
        memory.put_many([{"title": "note", "label": "note", "text": text} for text in texts])

    return Store(one, many, memory.close)


MEMHOP: Final = "MemHop"
FTS5_UNICODE: Final = "SQLite FTS5 unicode61, WAL FULL"
FTS5_PORTER: Final = "SQLite FTS5 porter, WAL FULL"

STORE_PEERS: Final = (
    StorePeer(MEMHOP, "memhop", True, memhop_store),
    StorePeer(FTS5_UNICODE, "sqlite3", True, lambda folder: fts5_store(folder, "unicode61")),
    StorePeer(FTS5_PORTER, "sqlite3", True, lambda folder: fts5_store(folder, "porter unicode61")),
    StorePeer("tantivy, a commit each", "tantivy", True, tantivy_store, slow=True),
    StorePeer("memvid-sdk", "memvid_sdk", True, memvid_store, slow=True),
    StorePeer("LMDB, no index", "lmdb", False, lmdb_store),
    StorePeer("write and fdatasync", "os", False, bare_file),
)
