"""What note systems do when they are asked, row by row: what must be found, in which order, and what is said of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memhop import DB, EmbedderError, HashEmbedder, InvalidRequest
from memhop.search import fusion
from tests.cli.running import memhop as run
from tests.support.embedders import Scripted, refusing
from tests.support.memories import DAY, NOW, distract, every, memory


@pytest.fixture
def db(tmp_path: Path) -> Iterator[DB]:
    with memory(tmp_path / "a.meh", durability="none") as opened:
        yield opened


def ids(found: Any) -> list[str]:
    return [hit.id for hit in found.hits]


# -- asking ------------------------------------------------------------------------------------------------------


def test_h2_search_gives_whole_notes_with_score_and_ranks(db: DB) -> None:
    """Of a tier, of one project or of all, best first; each with score and place by channel."""
    kept = db.remember("the pool has 20 connections", project="web", kind="decision", tags=["db"], at=NOW - DAY)
    other = db.remember("the pool of the hotel is closed for the winter season now", project="trips")
    archived = db.remember("the pool was opened", project="web")
    trashed = db.remember("the pool leaks", project="web")
    db.forget(trashed.id)
    db.notes.archive(archived.id)
    assert set(ids(db.recall("pool"))) == {kept.id, other.id}
    (hit,) = db.recall("pool connections", project="web").hits
    assert (hit.id, hit.text, hit.kind, hit.project, hit.status, hit.tags, hit.at, hit.tier) == (
        kept.id, kept.text, "decision", "web", kept.status, ("db",), NOW - DAY, "active",
    )  # fmt: skip
    assert (hit.score, hit.ranks["lexical"]) == (1.0, 1)
    assert ids(db.recall("pool", tier="archived")) == [archived.id]
    assert ids(db.recall("pool", tier="trashed")) == [trashed.id]
    assert set(ids(db.recall("pool", tier=["archived", "trashed"]))) == {archived.id, trashed.id}
    assert set(ids(db.recall("pool", tier="all"))) == {kept.id, other.id, archived.id, trashed.id}
    assert db.recall("pool", tier="all", project="trips").hits[0].id == other.id


def test_h2_alpha_weighs_and_switches_channels_off(tmp_path: Path) -> None:
    """0: words alone; 1: vectors alone. What is switched off did not run, says so, and gives no rank."""
    model = Scripted(lambda said, rows: np.stack([_direction(text) for text in said]))
    with memory(tmp_path / "a.meh", embedder=model) as db:
        by_words = db.remember("the kayak leaks")
        by_meaning = db.remember("water comes in through the hull of the boat")
        distract(db)
        db.backfill()
        found = {alpha: db.recall("the kayak", alpha=alpha) for alpha in (None, 0.0, 0.4, 1.0)}
        assert ids(found[0.0]) == [by_words.id]
        assert ids(found[1.0])[0] == by_meaning.id
        assert {by_words.id, by_meaning.id} <= set(ids(found[0.4]))
        assert all(hit.ranks.keys() <= {"layer", "lexical"} for hit in found[0.0].hits)
        assert not any({"lexical", "entity"} & hit.ranks.keys() for hit in found[1.0].hits)
        idle = {alpha: {use.name: use.reason for use in one.channels if not use.ran} for alpha, one in found.items()}
        assert idle[0.0]["pooled"] == "alpha is 0"
        assert idle[1.0]["lexical"] == "alpha is 1"
        assert "lexical" not in idle[0.4]
        assert "pooled" not in idle[None]
        for alpha in (-0.1, 1.1, "0.5", True):
            with pytest.raises(InvalidRequest, match="0 to 1"):
                db.recall("kayak", alpha=alpha)  # type: ignore[arg-type]


def _direction(text: str) -> Any:
    """A model to which boats and water are one thing, and a kayak is a question about them."""
    row = np.zeros(64, np.float32)
    row[0] = 1.0 if "hull" in text or text == "the kayak" else 0.1
    row[1 + sum(map(ord, text)) % 60] = 1.0
    return row / np.linalg.norm(row)


def test_h3_the_context_cites_ids_dates_status_and_what_superseded(db: DB) -> None:
    """A line per hit had a number, a kind and the text: no id, no date, no status."""
    old = db.remember("deploys happen on Fridays", kind="decision", status="approved", at=NOW - 9 * DAY)
    new = db.remember("deploys happen on Mondays", kind="decision", status="approved", at=NOW - DAY)
    supersede(db, old.id, new.id)
    context = db.recall("when do deploys happen?").context
    assert f"[2026-05-27 20:26] decision (approved): deploys happen on Mondays ({new.id})" in context
    assert re.search(rf"decision \(\w+; superseded by {new.id}\): deploys happen on Fridays \({old.id}\)", context)
    assert db.recall("zebra giraffe").context == ""


def test_n4_recall_gives_ranks_and_scores_that_can_be_checked_by_hand(tmp_path: Path) -> None:
    """Reciprocal ranks: a note's place in its layer makes its score, its places in the channels make its place."""
    with memory(tmp_path / "a.meh", embedder=HashEmbedder(64)) as db:
        db.remember_many([f"kayak trip number {number} to the lake " + "and back " * number for number in range(6)])
        db.backfill()
        found = db.recall("kayak trip to the lake", fusion="rrf")
        assert len(found.hits) == 6
        for place, hit in enumerate(found.hits, 1):
            assert hit.score == pytest.approx((fusion.RRF_K + 1) / (fusion.RRF_K + place))
            assert sum(hit.parts.values()) == pytest.approx(hit.score)
            assert {"lexical", "pooled"} & hit.ranks.keys()
            assert all(rank >= 1 for rank in hit.ranks.values())
        scores = np.array([3.0, 1.0, 2.0]), np.array([0.0, 0.4, 0.9])
        by_hand = [1 / 6, 1 / 8 + 0.5 / 7, 1 / 7 + 0.5 / 6]
        fused = fusion.rrf({"lexical": (1.0, scores[0]), "pooled": (0.5, scores[1])}, {}, {})
        assert fused.total.tolist() == pytest.approx(by_hand)
        for blank in ("", "  ", "\u200b"):
            assert (db.recall(blank).hits, db.recall(blank).reason) == ((), "the question is blank")
        with pytest.raises(InvalidRequest):
            db.recall(None)  # type: ignore[arg-type]


def test_n4_what_is_recalled_is_counted(db: DB) -> None:
    note = db.remember("the kayak leaks")
    for _ in range(3):
        db.recall("kayak")
    assert db.usage(note.id).hits == 3


def test_n5_any_word_will_do_and_one_letter_words_too(db: DB) -> None:
    """Words are joined by OR; a query of signs alone, or of one character, is a query."""
    note = db.remember("we settled the invoice in C")
    distract(db)
    for query in ("settling zebras", "SETTLES", "an invoice of a giraffe", "C", "in: c?", '"settled" OR (NOT x)'):
        assert ids(db.recall(query))[:1] == [note.id], query
    assert db.recall("zebra OR giraffe").hits == ()


@pytest.mark.parametrize(
    "query", ["what's the setup?", "config.json", "v1.2", "C#", "gateway/run.py", "50%", "a\\b", "user@host", "$HOME",
              "`ls`", "a;b", "!!!", "🎉", "\u0000", "'", '"', "NEAR(", "*", "-x", "a:b"],
)  # fmt: skip
@pytest.mark.parametrize("filters", [{}, {"project": "p"}, {"tier": "trashed"}, {"alpha": 0.0}, {"kinds": ["bug"]}])
def test_b1_any_text_is_a_query(tmp_path_factory: pytest.TempPathFactory, query: str, filters: dict[str, Any]) -> None:
    """Its own README's question was a syntax error in the search engine below, and so were dots, slashes and quotes."""
    path = tmp_path_factory.getbasetemp() / "b1.meh"
    known = path.exists()
    with memory(path, durability="none") as db:
        if not known:
            distract(db)
        found = db.recall(query, **filters)
        assert (found.reason is None) == bool(found.hits)


def test_b24_signs_alone_find_nothing_and_say_why(db: DB) -> None:
    """The reply to `!!!` was an invalid one, or a type error; on other paths it returned arbitrary notes."""
    distract(db)
    for query in ("!!!", "🎉🎉", "...", "؟"):
        for options in WAYS:
            found = db.recall(query, **options)
            assert (found.hits, found.context) == ((), "")
            assert found.reason


@pytest.mark.parametrize("limit", [-1, 0, 2.5, 1001, 10**9, "abc", "5", True])
def test_b23_a_limit_that_is_none_is_refused_by_name(db: DB, limit: Any) -> None:
    """-1 gave everything, 2.5 and "abc" the error of the database below, 1366 one of the vector index."""
    for call in (db.recall, db.search):
        with pytest.raises(InvalidRequest) as refused:
            call("kayak", limit=limit)
        assert refused.value.field == "limit"
        assert "1 to 1000" in str(refused.value.allowed)


def test_b25_the_count_of_candidates_does_not_grow_with_the_page(db: DB) -> None:
    """Totals were 120, 240, 360 on pages 1, 2, 3: the size of what had been looked at."""
    db.remember_many([f"kayak {number} on the lake" for number in range(120)])
    distract(db)
    found = [db.recall("kayak", limit=limit) for limit in (1, 10, 100, 1000)]
    assert [one.candidates for one in found] == [120] * 4
    assert [len(one.hits) for one in found] == [1, 10, 100, 120]
    assert [ids(one)[:1] for one in found] == [ids(found[0])] * 4, "and the first one is the first one"


# -- filters before places ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [None, HashEmbedder(64)], ids=["words", "with vectors"])
@pytest.mark.parametrize("alpha", [None, 0.0, 1.0])
def test_b10_a_loud_project_starves_no_other(tmp_path: Path, model: HashEmbedder | None, alpha: float | None) -> None:
    """Forty near matches in another project, and the only note of this one was not found; the same with kinds."""
    if model is None and alpha == 1.0:
        return
    with memory(tmp_path / "a.meh", embedder=model, durability="none") as db:
        db.remember_many([{"text": f"pool config for database {number}", "project": "b"} for number in range(400)])
        quiet = db.remember("a remark on how the pool is set for our database", project="a", kind="decision")
        if model is not None:
            db.backfill()
        asked: list[dict[str, Any]] = [
            {"project": "a"},
            {"kinds": ["decision"]},
            {"project": "A", "kinds": ["decision"]},
        ]
        for filters in asked:
            found = db.recall("pool config for database", alpha=alpha, limit=1, **filters)
            assert ids(found) == [quiet.id]
        for note in every(db.notes.list, page=200, project="b"):
            db.forget(note.id, hard=True)
        assert ids(db.recall("pool config for database", alpha=alpha, project="a")) == [quiet.id], "no ghosts"


def test_b32_a_kind_is_a_filter_of_a_search_too(db: DB) -> None:
    """The page showed kind "bug" and the search "settlement": seven rows of all kinds."""
    db.remember_many(
        {"text": f"settlement {kind} {number}", "kind": kind, "status": status}
        for number in range(7)
        for kind, status in (("bug", "open"), ("plan", "pending"), ("note", None), ("bug", "fixed"))
    )
    assert {hit.kind for hit in db.recall("settlement", kinds=["bug"], limit=100).hits} == {"bug"}
    fixed = db.recall("settlement", statuses=["fixed"], limit=100).hits
    assert {(hit.kind, hit.status) for hit in fixed} == {("bug", "fixed")}
    assert len(fixed) == 7
    both = db.recall("settlement", statuses=["open", "pending"], limit=100).hits
    assert {hit.status for hit in both} == {"open", "pending"}
    assert len(both) == 14
    assert db.recall("settlement", statuses=["open"], kinds=["plan"]).hits == ()
    assert "statuses" in str(db.recall("settlement", statuses=["no such"]).reason)


def test_b2_statuses_follow_edits(db: DB) -> None:
    """The text index kept old words and old statuses: searching "open" still found a fixed bug."""
    note = db.remember("alpha zebra", project="p", kind="bug", status="open", external_id="x")
    db.remember("beta lion", project="p", kind="bug", status="fixed", external_id="x")
    assert db.recall("zebra").hits == ()
    assert db.recall("lion", statuses=["open"]).hits == ()
    assert ids(db.recall("lion", statuses=["fixed"])) == [note.id]


def test_b2_an_edit_reindexes(tmp_path: Path) -> None:
    """ "alpha zebra" became "beta lion": "zebra" went on finding it, with words and with vectors."""
    with memory(tmp_path / "a.meh", embedder=HashEmbedder(256)) as db:
        note = db.remember("alpha zebra", project="old", external_id="x")
        distract(db)
        db.backfill()
        db.remember("beta lion", project="old", external_id="x")
        db.backfill()
        assert note.id not in ids(db.recall("zebra", alpha=0.0))
        assert ids(db.recall("lion"))[:1] == [note.id]
        assert db.verify(deep=True).ok
        db.projects.reassign([note.id], to="new")
        assert ids(db.recall("lion", project="new")) == [note.id]
        assert db.recall("lion", project="old").hits == ()
        assert db.recall("old project").hits == () or note.id not in ids(db.recall("old project", alpha=0.0))


def test_b11_what_is_purged_leaves_no_word_no_index_entry_and_no_vector(tmp_path: Path) -> None:
    """Purged by force, a secret was on the disk twice; its vector and index rows stayed for ever."""
    path = tmp_path / "a.meh"
    with memory(path, embedder=HashEmbedder(64)) as db:
        distract(db)
        secret = db.remember("the code of the vault is Qxzelda4471")
        db.backfill()
        db.checkpoint()
        before = db.stats()
        db.forget(secret.id, hard=True)
        for options in WAYS:
            assert secret.id not in ids(db.recall("code of the vault Qxzelda4471", **options))
        db.compact()
        after = db.stats()
        assert (after.units, after.records["note"]) == (before.units - 1, before.records["note"] - 1)
        assert db.verify(deep=True).ok
    assert b"qxzelda" not in path.read_bytes().lower()


WAYS: tuple[dict[str, Any], ...] = ({}, {"alpha": 0.0}, {"alpha": 1.0}, {"tier": "all"}, {"fusion": "rrf"})


# -- nothing there -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [None, HashEmbedder(64)], ids=["words", "with vectors"])
def test_b12_c7_nothing_fitting_says_so(tmp_path: Path, model: HashEmbedder | None) -> None:
    """A query about zebras returned notes about lorries; with an embedder everything matched."""
    with memory(tmp_path / "a.meh", embedder=model) as db:
        distract(db)
        if model is not None:
            db.backfill()
        found = db.recall("zebra giraffe elephant")
        assert not found.hits or any("probably not in this memory" in notice for notice in found.notices)
        assert found.confidence < 0.3
        if model is None:
            assert found.hits == ()
            assert "zebra, giraff, eleph" in str(found.reason)
            assert "pooled did not run: no embedder is configured" in str(found.reason)


def test_n17_what_is_kept_back_is_counted_and_near_words_are_named(db: DB) -> None:
    """Nothing was found, and nobody knew that it lay in the trash or in another project."""
    db.remember_many([{"text": f"the zeppelin of {who}", "project": "b"} for who in ("Ann", "Bo", "Cy")])
    gone = db.remember("a zeppelin went down", project="a")
    db.forget(gone.id)
    db.remember("a balloon", project="a")
    found = db.recall("zeppelin", project="a")
    assert found.held_back == {"project": 3, "trashed": 1}
    assert found.hint == "kept back by the filters: 1 in the trash, 3 in other projects"
    assert "no stored text that passes the filters has any of: zeppelin" in str(found.reason)
    assert [use.name for use in found.channels if use.ran] == ["lexical"]
    misspelt = db.recall("baloonz", project="a")
    assert (misspelt.hits, misspelt.held_back) == ((), {})
    assert misspelt.hint == "spelt nearly so: balloon"
    assert db.recall("zepelinz", project="a").hint is None, "a word of another project is not named"
    assert db.recall("", project="a").hint is None


def test_n17_the_command_says_it_in_one_line(tmp_path: Path) -> None:
    """Which channels ran, which did not and why, what the filters keep back."""
    path = tmp_path / "a.meh"
    with memory(path) as db:
        distract(db)
        db.remember("the zeppelin landed", project="b")
    ran = run("recall", "zeppelin", "--project", "default", "--file", path)
    assert (ran.code, ran.out) == (1, "")
    (line,) = ran.err.splitlines()
    for part in (
        "nothing found",
        "has any of: zeppelin",
        "project leaves out 1",
        "pooled did not run: no embedder is configured",
        "looked by lexical",
        "kept back by the filters: 1 in other projects",
    ):
        assert part in line
    found = run("recall", "zeppelin", "--tier", "all", "--status", "none such", "--file", path)
    assert "1 with another status" in found.err
    assert run("recall", "zeppelin", "--project", "b", "--no-universal", "--alpha", "0", "--file", path).code == 0


# -- words -------------------------------------------------------------------------------------------------------


def test_b13_c13_scripts_without_blanks_are_found_and_not_outranked(tmp_path: Path) -> None:
    """A Chinese sentence was one token; and notes in other scripts had vectors of zeros, and scored 0.5 with them."""
    with memory(tmp_path / "a.meh", embedder=HashEmbedder(128)) as db:
        chinese = db.remember("我们决定把数据库迁移到新的服务器")
        russian = db.remember("мы решили купить новую лодку весной")
        english = db.remember("we decided to buy the blue kayak")
        distract(db)
        db.backfill()
        for query, note in (
            ("数据库", chinese), ("迁", chinese), ("лодка", russian), ("blue kayak", english),
        ):  # fmt: skip
            for alpha in (None, 0.0):
                assert ids(db.recall(query, alpha=alpha))[:1] == [note.id], query
        assert ids(db.recall("blue kayak", alpha=1.0))[:1] == [english.id]


def test_b14_shared_function_words_are_no_match(db: DB) -> None:
    """ "What is the proxy in front of the database" was answered with the colour of a car: the, of, is."""
    db.remember("the colour of the car in front of the house is the one of the door")
    proxy = db.remember("pg-bouncer is a proxy, it sits before the database")
    assert ids(db.recall("what is the proxy in front of the database"))[:1] == [proxy.id]
    assert ids(db.recall("what is the proxy for")) == [proxy.id]


def test_b37_inflected_words_and_whole_questions(db: DB) -> None:
    """ "settled" did not find "settles", and a question in words found nothing: all of them had to match."""
    note = db.remember("the bank settles card payments after two days")
    distract(db)
    for query in ("settled", "settling payments", "how long does it take until a payment with my card is settled?"):
        assert ids(db.recall(query))[:1] == [note.id]


# -- models ------------------------------------------------------------------------------------------------------


def test_n6_vectors_are_filtered_before_they_are_ranked_and_never_mixed(tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    with memory(path, embedder=Scripted(name="one")) as db:
        db.remember_many([{"text": f"kayak {number}", "project": "loud"} for number in range(300)])
        quiet = db.remember("a boat that is no kayak", project="quiet")
        db.backfill()
        assert ids(db.recall("kayak", project="quiet", alpha=1.0)) == [quiet.id]
    with memory(path, embedder=Scripted(name="two")) as db:
        found = db.recall("kayak", alpha=1.0)
        assert found.hits == (), "not one vector of the other model"
        assert "nothing was embedded with two yet" in str(found.reason)


def test_n13_c11_another_model_starts_from_nothing_and_the_first_one_is_kept(tmp_path: Path) -> None:
    """What was embedded and what waits added up to more than there was, after a change of model."""
    path = tmp_path / "a.meh"
    with memory(path, embedder=Scripted(name="one")) as db:
        distract(db)
        db.backfill()
        assert db.pending().without_vector == 0
    with memory(path, embedder=Scripted(name="two")) as db:
        assert db.pending().without_vector == 4
        assert db.backfill().embedded == 4
    back = Scripted(name="one")
    with memory(path, embedder=back) as db:
        assert db.pending().without_vector == 0, "what the first one made is there"
        assert db.backfill().embedded == 0
        assert back.calls == []


def test_n14_other_words_drop_the_vector_even_while_the_model_is_away(tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    with memory(path, embedder=HashEmbedder(64)) as db:
        note = db.remember("the kayak is red", external_id="x")
        distract(db)
        db.backfill()
    with memory(path) as db:
        db.remember("quarterly figures", external_id="x")
    with memory(path, embedder=HashEmbedder(64)) as db:
        assert db.pending().without_vector == 1
        assert note.id not in ids(db.recall("the kayak is red", alpha=1.0)), "the old vector speaks for nothing"


def test_n15_c1_with_the_model_gone_stored_vectors_are_still_used(tmp_path: Path) -> None:
    """Promised and not kept: the question could not be embedded, so no stored vector was looked at."""
    path = tmp_path / "a.meh"
    with memory(path, embedder=HashEmbedder(256)) as db:
        near = db.remember("kayaks and canoes lie on the shore")
        echo = db.remember("canoes on a shore")
        distract(db)
        db.backfill()

    class Unplugged(HashEmbedder):
        def embed(self, texts: Any, *, query: bool = False) -> Any:
            raise EmbedderError("connection refused", retryable=True)

    with memory(path, embedder=Unplugged(256)) as db:
        found = db.recall("kayaks")
        assert ids(found) == [near.id, echo.id], "the second one shares no word with the question"
        assert found.hits[1].ranks == {"layer": 2, "feedback": 2}
        used = {use.name: (use.ran, use.reason) for use in found.channels}
        assert used["feedback"] == (True, None)
        assert used["pooled"] == (False, "the embedder failed: connection refused")
        assert db.recall("zebra").hits == ()


def test_c8_one_text_that_a_model_refuses_stops_no_other(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh", embedder=Scripted(refusing("poison"))) as db:
        distract(db)
        db.remember("a poison pill")
        report = db.backfill()
        assert (report.embedded, report.remaining, report.failed) == (4, 1, 1)
        assert "this text" in str(db.pending().last_reason)
        assert ids(db.recall("poison pill"))[:1], "and words find it"


def test_c9_recall_writes_nothing(tmp_path: Path) -> None:
    """Each recall rewrote the index entry of every hit, because a counter in its row had changed."""
    path = tmp_path / "a.meh"
    with memory(path) as db:
        distract(db)
        db.checkpoint()
        before = path.read_bytes()
        for _ in range(20):
            assert db.recall("bicycle garage").hits
        assert path.read_bytes() == before


# -- what took the place of what -----------------------------------------------------------------------------------


def test_a_superseded_note_is_found_behind_what_took_its_place(db: DB) -> None:
    old = db.remember("we deploy on Fridays", kind="decision", at=NOW - 90 * DAY)
    new = db.remember("releases go out on Monday mornings", kind="decision", at=NOW - DAY)
    db.remember_many([f"we talk about topic {number} when we meet" for number in range(30)])
    supersede(db, old.id, new.id)
    found = db.recall("when do we deploy?")
    assert ids(found)[:2] == [new.id, old.id], "though the new one has none of the words"
    first, second = found.hits[:2]
    assert (first.superseded, first.superseded_by) == (False, None)
    assert (second.superseded, second.superseded_by) == (True, new.id)
    assert first.parts["supersedes"] > 0
    assert second.parts["superseded"] < 0
    assert sum(second.parts.values()) == pytest.approx(second.score)
    assert f"superseded by {new.id}" in found.context
    past = db.recall("when did we deploy in March?", at=NOW)
    assert old.id in ids(past)
    assert "superseded" not in past.hits[ids(past).index(old.id)].parts, "it was so then"


def test_universal_is_searched_along_and_flagged(db: DB) -> None:
    db.remember_many([{"text": f"retry with a back-off {number}", "project": "universal"} for number in range(50)])
    own = [db.remember(f"our retry rule {number} of the web shop", project="web").id for number in range(20)]
    db.remember("retry elsewhere", project="other")
    found = db.recall("retry", project="web", limit=8)
    flagged = [hit.universal for hit in found.hits]
    assert sum(flagged) == 2, "a quarter of the places"
    assert {hit.project for hit in found.hits} == {"web", "universal"}
    assert [hit.universal for hit in found.hits] == [hit.project == "universal" for hit in found.hits]
    assert "(project universal): retry with" in found.context
    alone = db.recall("retry", project="web", limit=8, universal=False)
    assert {hit.project for hit in alone.hits} == {"web"}
    kept = [hit.id for hit in found.hits if not hit.universal]
    assert kept == ids(alone)[: len(kept)], "the order of its own hits is the same"
    few = db.recall("retry rule 7", project="web", limit=3)
    assert not any(hit.universal for hit in few.hits), "no place of fewer than four"
    free = db.recall("back-off", project="web", limit=10)
    assert [hit.universal for hit in free.hits] == [True] * 10, "and all places that are free"
    assert set(ids(db.recall("retry", project="web", session="s"))) == set()
    assert {hit.universal for hit in db.recall("retry", limit=100).hits} == {False}
    assert {hit.universal for hit in db.recall("retry", project="universal").hits} == {False}
    assert set(own) >= set(kept)


def supersede(db: DB, old: str, new: str) -> None:
    db.notes.link(new, old, "supersedes")
