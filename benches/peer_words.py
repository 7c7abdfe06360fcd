"""Engines that find texts by their words, each with the settings that suit it best, behind one small interface.

A question is asked in the words people use, and every engine is to find texts that hold any of them, best first. What
an engine needs for that (escaping, OR between words) is part of its query and of its time.
"""

from __future__ import annotations

import os
import re
import sqlite3
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

TOP: Final = 20
Search = Callable[[str], object]

_WORD = re.compile(r"\w+")


class WordPeer(NamedTuple):
    """`build(folder, texts)` indexes the texts and returns the search."""

    name: str
    module: str
    build: Callable[[Path, Sequence[str]], Search]


def fts5(folder: Path, texts: Sequence[str], tokenizer: str) -> Search:
    """SQLite FTS5 with its index merged into one tree, a page cache of 256 MB and a mapped file; OR, order by rank."""
    connection = fts5_table(folder / f"words-{tokenizer.partition(' ')[0]}-{len(texts)}.sqlite", tokenizer)
    connection.execute("BEGIN")
    connection.executemany("INSERT INTO notes (text) VALUES (?)", ((text,) for text in texts))
    connection.execute("COMMIT")
    connection.execute("INSERT INTO notes (notes) VALUES ('optimize')")
    connection.execute("PRAGMA cache_size=-256000")
    connection.execute("PRAGMA mmap_size=4000000000")
    statement = f"SELECT rowid, text FROM notes WHERE notes MATCH ? ORDER BY rank LIMIT {TOP}"

    def search(question: str) -> list[Any]:
        words = " OR ".join(f'"{word}"' for word in _WORD.findall(question))
        return connection.execute(statement, (words,)).fetchall()

    weakref.finalize(search, connection.close)
    return search


def fts5_table(path: Path, tokenizer: str) -> sqlite3.Connection:
    """A new database of one FTS5 table `notes(text)`: write-ahead log, every commit synced."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute(f"CREATE VIRTUAL TABLE notes USING fts5(text, tokenize='{tokenizer}')")
    return connection


def tantivy_index(folder: Path, *, stop_words: bool) -> Any:
    """A new tantivy index of one stored field, stemmed English, with or without a stop list."""
    import tantivy

    builder = tantivy.SchemaBuilder()
    builder.add_text_field("text", stored=True, tokenizer_name="words")
    place = folder / ("tantivy-stop" if stop_words else "tantivy")
    place.mkdir(parents=True, exist_ok=True)
    index = tantivy.Index(builder.build(), path=str(place))
    analyzer = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple()).filter(tantivy.Filter.lowercase())
    if stop_words:
        analyzer = analyzer.filter(tantivy.Filter.stopword("english"))
    index.register_tokenizer("words", analyzer.filter(tantivy.Filter.stemmer("english")).build())
    return index


def tantivy_words(folder: Path, texts: Sequence[str], *, stop_words: bool, read: bool = False) -> Search:
    """tantivy, all segments merged. `read`: also fetch the text of each hit, as a memory has to."""
    import tantivy

    index = tantivy_index(folder / f"{len(texts)}{'-read' if read else ''}", stop_words=stop_words)
    writer = index.writer(256_000_000, 1)
    for text in texts:
        writer.add_document(tantivy.Document(text=text))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()

    def search(question: str) -> list[Any]:
        query = index.parse_query(" ".join(_WORD.findall(question)), ["text"])
        hits = searcher.search(query, TOP, count=False).hits
        return [searcher.doc(address)["text"] for _, address in hits] if read else hits

    return search


def bm25s_words(folder: Path, texts: Sequence[str]) -> Search:
    """bm25s with its English stop list and the Snowball stemmer."""
    import bm25s
    import Stemmer

    stemmer = Stemmer.Stemmer("english")
    retriever = bm25s.BM25(k1=0.9, b=0.4)
    retriever.index(bm25s.tokenize(texts, stopwords="en", stemmer=stemmer, show_progress=False), show_progress=False)

    def search(question: str) -> object:
        tokens = bm25s.tokenize([question], stopwords="en", stemmer=stemmer, show_progress=False)
        return retriever.retrieve(tokens, k=min(TOP, len(texts)), show_progress=False)

    return search


def memvid_words(folder: Path, texts: Sequence[str]) -> Search:
    """memvid-sdk, its lexical index alone, without network."""
    memory = memvid_memory(folder / f"words-{len(texts)}.mv2")
    memory.put_many([{"text": text, "title": str(number), "label": "note"} for number, text in enumerate(texts)])
    memory.commit()
    return lambda question: memory.find(question, k=TOP, mode="lex")


def memvid_memory(path: Path) -> Any:
    """A new memory of memvid-sdk; what it would tell its makers about its use is switched off."""
    os.environ["MEMVID_TELEMETRY"] = "0"
    import memvid_sdk

    return memvid_sdk.use("basic", str(path), mode="create", enable_lex=True, enable_vec=False)


FTS5_UNICODE: Final = "SQLite FTS5 unicode61, OR"
FTS5_PORTER: Final = "SQLite FTS5 porter, OR"
TANTIVY: Final = "tantivy"
TANTIVY_STOP: Final = "tantivy, stop list"

WORD_PEERS: Final = (
    WordPeer(FTS5_UNICODE, "sqlite3", lambda folder, texts: fts5(folder, texts, "unicode61")),
    WordPeer(FTS5_PORTER, "sqlite3", lambda folder, texts: fts5(folder, texts, "porter unicode61")),
    WordPeer(TANTIVY, "tantivy", lambda folder, texts: tantivy_words(folder, texts, stop_words=False)),
    WordPeer(TANTIVY_STOP, "tantivy", lambda folder, texts: tantivy_words(folder, texts, stop_words=True)),
    WordPeer(
        f"{TANTIVY_STOP}, texts read",
        "tantivy",
        lambda folder, texts: tantivy_words(folder, texts, stop_words=True, read=True),
    ),
    WordPeer("bm25s", "bm25s", bm25s_words),
)
