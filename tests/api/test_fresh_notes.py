"""With an embedder, what was remembered a moment ago has no vector yet; it must not lose to what has one."""

from __future__ import annotations

from pathlib import Path

import pytest

from memhop import HashEmbedder
from tests.support.memories import memory


class TestNotYetEmbedded:
    @pytest.mark.parametrize("others", [1, 2, 4, 8, 16])
    @pytest.mark.parametrize("fusion", ["zscore", "rrf"])
    def test_what_was_just_remembered_is_found_first(self, tmp_path: Path, others: int, fusion: str) -> None:
        """Among a few embedded notes the nearest one, however unrelated, beat a new note that held every word of the
        question: the new one had no vector yet, and so no part in the semantic channels."""
        words = "zebra lantern granite meadow violin harbour copper thistle".split()
        with memory(tmp_path / "a.meh", embedder=HashEmbedder()) as db:
            db.remember_many([f"{words[n % 8]} {words[n // 8 + 1]} remark {n}" for n in range(others)])
            db.backfill()
            for text, query in (
                ("Bjarne owes me forty kroner", "how much does Bjarne owe me?"),
                ("our wifi password is hunter2", "what is the wifi password?"),
                ("a quokka sleeps at noon", "when does the quokka sleep?"),
            ):
                note = db.remember(text)
                hit = db.recall(query, fusion=fusion).hits[0]
                assert hit.id == note.id, hit.text
                assert "pooled" not in hit.parts, "what the words lent is shown as theirs"
            db.backfill()
            found = db.recall("when does the quokka sleep?", fusion=fusion).hits[0]
            assert found.id == note.id
            assert found.parts["pooled"] > 0
