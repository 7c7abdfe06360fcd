"""The peers find what they are asked for, so that their times are those of the work they are meant to do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benches import peer_stores, peers
from benches.corpus import FUNCTION_WORDS, texts
from benches.peer_stores import STORE_PEERS, StorePeer
from benches.peer_vectors import VECTOR_PEERS, VectorPeer, nearest
from benches.peer_words import FTS5_PORTER, TANTIVY, WORD_PEERS, WordPeer, fts5, tantivy_words
from benches.real_vectors import embedded, real_vectors, sentences
from memhop.models.embed import HashEmbedder

TEXTS = list(texts(300))


def needs(module: str) -> None:
    pytest.importorskip(module, reason="the extra `peers` is not installed")


@pytest.mark.parametrize("peer", WORD_PEERS, ids=lambda peer: peer.name)
def test_a_question_is_answered(peer: WordPeer, tmp_path: Path) -> None:
    needs(peer.module)
    search = peer.build(tmp_path, TEXTS)
    words = [word for word in TEXTS[7].split() if word not in FUNCTION_WORDS][:3]
    assert search(f"what did we say about {' '.join(words)}")


def test_fts5_and_tantivy_agree_on_the_best(tmp_path: Path) -> None:
    needs("tantivy")
    sqlite, other = (
        fts5(tmp_path, TEXTS, "porter unicode61"),
        tantivy_words(tmp_path, TEXTS, stop_words=True, read=True),
    )
    for text in TEXTS[:20]:
        question = " ".join(text.split()[:12])
        assert sqlite(question)[0][1] == other(question)[0][0] == text  # type: ignore[index]


@pytest.mark.parametrize("peer", VECTOR_PEERS, ids=lambda peer: peer.name)
def test_the_nearest_vectors_are_found(peer: VectorPeer, tmp_path: Path) -> None:
    needs(peer.module)
    base = np.random.default_rng(3).standard_normal((500, 64)).astype(np.float32)
    base /= np.linalg.norm(base, axis=1, keepdims=True)
    search = peer.build(tmp_path, base)
    for query in base[:5]:
        found = search(query).tolist()
        assert found[0] == nearest(base, query)[0]
        assert len(set(found) & set(nearest(base, query).tolist())) >= 16


@pytest.mark.parametrize("peer", [peer for peer in STORE_PEERS if not peer.slow], ids=lambda peer: peer.name)
def test_a_store_takes_one_and_many(peer: StorePeer, tmp_path: Path) -> None:
    needs(peer.module)
    store = peer.open(tmp_path)
    store.one(TEXTS[0])
    store.many(TEXTS[1:10])
    store.close()


def test_a_peer_that_is_missing_has_a_row_that_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = {peer.name: peer for peer in STORE_PEERS}
    absent = StorePeer("absent", "no_such_module_anywhere", True, kept[peer_stores.MEMHOP].open)
    monkeypatch.setattr(peer_stores, "STORE_PEERS", (kept[peer_stores.MEMHOP], kept[peer_stores.FTS5_PORTER], absent))
    monkeypatch.setattr(peers, "STORED", 200)
    found = peers.writes(tmp_path, rounds=4)
    assert found["absent"] == {"not installed": True}
    assert found[peer_stores.MEMHOP]["one"]["cpu_p50"] > 0
    peers.show({"stored": 200, "writes": found, "words": {}, "vectors": {}})
    assert "not installed" in capsys.readouterr().out


def test_words_are_measured_beside_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = tuple(peer for peer in WORD_PEERS if peer.name in (FTS5_PORTER, TANTIVY))
    monkeypatch.setattr(peers, "WORD_PEERS", kept[:1])
    monkeypatch.setattr(peers, "QUESTIONS", 5)
    found = peers.words(tmp_path, tmp_path, 1_000)
    assert found.keys() == {peers.OURS, FTS5_PORTER}
    assert all(facts["cpu_p50"] > 0 for facts in found.values())


def test_mixtures_lie_between_real_rows(tmp_path: Path) -> None:
    real = sentences(Path(peers.__file__).parent)
    assert len(set(real)) == len(real) > 50
    rows = embedded(real, HashEmbedder(), tmp_path)
    assert np.array_equal(rows, embedded(real, HashEmbedder(), tmp_path)), "kept and taken from there"
    data = real_vectors(rows, "hash", 3 * len(rows), 10)
    assert data.base.shape == (3 * len(rows), rows.shape[1])
    assert np.allclose(np.linalg.norm(data.base, axis=1), 1, atol=1e-5)
    real_rows, asked = ({row.tobytes() for row in found} for found in (rows, data.queries))
    base = {row.tobytes() for row in data.base}
    assert real_rows - asked <= base
    assert len(base - real_rows) > len(rows), "the rest are new points"
    assert not asked & base, "queries are held out"
