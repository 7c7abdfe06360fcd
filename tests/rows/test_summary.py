"""Briefs and progressive summaries. Tests are named after the rows they hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memhop import DB, Backups, Config, HashEmbedder, InvalidRequest
from memhop.common.clock import ManualClock
from memhop.common.settings import RecallSection, RetentionSection, SummarySection
from tests.support.memories import DAY, MINUTE, NOW, memory

ORDERS = {"kinds": {"order": {"statuses": ["new", "held", "sent"], "open": ["new", "held"], "terminal": ["sent"]}}}


def reworked(db: DB, name: str, text: str, **fields: Any) -> str:
    """The id of a note that can be written again under its name."""
    return db.remember(text, external_id=name, **fields).id


# -- H16: when a summary is due ------------------------------------------------------------------------------


def test_h16_triggers(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        empty = db.summary.check("a")
        assert (empty.needed, empty.trigger, empty.template) == (False, None, None)
        db.remember("the harbour is dredged", project="a")
        first = db.summary.check(" A ")
        assert (first.project, first.needed, first.trigger, first.summary_id) == ("a", True, "first_summary", None)
        assert [change.change for change in first.changes] == ["created"]
        saved = db.summary.save("a", "What is known: dredging.")
        kept = db.summary.check("a", turns=9, context_pct=21)
        assert (kept.needed, kept.trigger, kept.text) == (False, None, "What is known: dredging.")
        assert (kept.summary_id, kept.changes, kept.template) == (saved.id, (), None)
        for arguments, trigger in (
            ({"turns": 10}, "turn_interval"),
            ({"context_pct": 20}, "context_pressure"),
            ({"context_pct": 19.5, "turns": 50}, "context_pressure"),
            ({"force": True, "context_pct": 0}, "forced"),
        ):
            due = db.summary.check("a", **arguments)
            assert (due.needed, due.trigger, due.summary_id) == (True, trigger, saved.id)


def test_b17_no_context_left_is_the_most_urgent_of_all(tmp_path: Path) -> None:
    """0 percent was read as "not given", that is 100: up to date, at the moment of greatest need."""
    with memory(tmp_path / "a.meh") as db:
        db.summary.save("default", "as it was")
        due = db.summary.check(context_pct=0)
        assert (due.needed, due.trigger) == (True, "context_pressure")


@pytest.mark.parametrize(
    "arguments",
    [
        {"turns": -1},
        {"turns": True},
        {"turns": 2.5},
        {"context_pct": -1},
        {"context_pct": 101},
        {"context_pct": "5"},
        {"context_pct": float("nan")},
        {"force": 1},
        {"project": ""},
        {"project": None},
    ],
)
def test_h16_what_makes_no_sense_is_refused(tmp_path: Path, arguments: dict[str, Any]) -> None:
    with memory(tmp_path / "a.meh") as db, pytest.raises(InvalidRequest):
        db.summary.check(**arguments)


def test_b18_what_happened_since_the_last_summary(tmp_path: Path) -> None:
    """A bug that was fixed after the summary was not in the next one, and 21 of 70 new memories were cut in silence."""
    clock = ManualClock(NOW)
    with memory(tmp_path / "a.meh", clock=clock) as db:
        fixed = reworked(db, "one", "the winch slips", kind="bug", status="open")
        edited = reworked(db, "two", "the tide tables are those of 2025")
        gone = db.remember("to be thrown away").id
        untouched = db.remember("stays as it is").id
        db.remember("the last one saved in the same millisecond")
        summary = db.summary.save("default", "one bug is open")
        new = [db.remember(f"new {number}").id for number in range(70)]  # in the millisecond of the summary
        clock.advance(MINUTE)
        reworked(db, "one", "the winch slips", kind="bug", status="fixed")
        reworked(db, "two", "the tide tables are those of 2026")
        db.forget(gone)
        due = db.summary.check(turns=10)
        assert (due.total, len(due.changes), due.truncated, due.created_at) == (73, 50, True, NOW)
        told = {change.id: change for change in due.changes}
        assert (told[fixed].change, told[fixed].status_before, told[fixed].status) == ("status", "open", "fixed")
        assert (told[edited].change, told[edited].title) == ("edited", "the tide tables are those of 2026")
        assert told[gone].change == "trashed"
        assert untouched not in told
        assert summary.id not in told
        assert {id_ for id_, change in told.items() if change.change == "created"} <= set(new)
    with memory(tmp_path / "a.meh", clock=clock, config=Config(summary=SummarySection(items=73))) as db:
        due = db.summary.check(turns=10)
        assert (due.total, len(due.changes), due.truncated) == (73, 73, False)
        assert {change.id for change in due.changes} == {fixed, edited, gone, *new}


def test_b18_nothing_of_the_same_millisecond_is_lost(tmp_path: Path) -> None:
    """What was stored in the same second as the summary was lost for good; also after the file was compacted."""
    with memory(tmp_path / "a.meh") as db:
        db.remember("before")
        saved = db.summary.save("default", "so far")
        after = db.remember("after").id
        for _ in range(2):
            due = db.summary.check(force=True)
            assert [change.id for change in due.changes] == [after]
            assert db.brief("default").projects[0].summary.changes == 1  # type: ignore[union-attr]
            db.compact()
        with db._store.writing() as batch:  # the summary itself is changed: rather one too many than one lost
            from memhop.common.ids import from_hex
            from memhop.repo.l4_note import Note
            from memhop.repo.l4_revision import revise

            note = db._store.get(Note, from_hex(saved.id))
            revise(batch, note, act="pin", actor="", now_ms=NOW, pinned=True)
        assert db.summary.check(force=True).total == 2


def test_b18_what_is_gone_from_the_project_is_told_too(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        erased = db.remember("walnut allergy, strictly private", project="a", kind="fact").id
        away = db.remember("it belongs elsewhere", project="a").id
        brief = db.remember("comes and goes again", project="b").id
        here = db.remember("it belongs here", project="b").id
        db.summary.save("a", "so far")
        db.forget(erased, hard=True)
        db.projects.reassign([away], to="b")
        db.projects.reassign([brief, here], to="a")
        db.projects.reassign([brief], to="b")
        db.forget(db.remember("was never there", project="a").id, hard=True)
        due = db.summary.check("a", force=True)
        assert {(change.id, change.change, change.kind, change.title) for change in due.changes} == {
            (erased, "purged", "fact", ""),
            (away, "moved away", "note", "it belongs elsewhere"),
            (here, "moved here", "note", "it belongs here"),
        }
        assert (due.total, due.whole) == (3, True)
        assert "walnut" not in str(due.to_dict())
        db.compact()
        due = db.summary.check("a", force=True)
        assert ([change.id for change in due.changes], due.whole) == ([here], False)


def test_b18_a_clock_that_is_set_back_loses_nothing(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh", clock=ManualClock(NOW - DAY)) as db:
        db.remember("long before")
    with memory(tmp_path / "a.meh") as db:
        db.summary.save("default", "so far")
    with memory(tmp_path / "a.meh", clock=ManualClock(NOW - DAY)) as db:
        late = db.remember("afterwards, by a clock that is late").id
        assert [change.id for change in db.summary.check(force=True).changes] == [late]


def test_h16_a_summary_supersedes_the_one_before(tmp_path: Path) -> None:
    clock = ManualClock(NOW)
    with memory(tmp_path / "a.meh", clock=clock) as db:
        assert db.summary.latest("a") is None
        first = db.summary.save("a", "one", tags=["nightly"], metadata={"turns": 12})
        assert (first.kind, first.project, first.tags, first.metadata) == (
            "progressive_summary",
            "a",
            ("nightly",),
            {"turns": 12},
        )
        other = db.summary.save("b", "of another project")
        clock.advance(MINUTE)
        second = db.summary.save("A", "two")
        assert (second.project, second.links, second.link_types) == ("a", (first.id,), ("supersedes",))
        assert db.notes.get(first.id).superseded_by == second.id
        assert db.notes.get(other.id).superseded_by is None
        assert db.summary.latest("a").id == second.id  # type: ignore[union-attr]
        db.forget(second.id)
        assert db.summary.latest("a").id == first.id  # type: ignore[union-attr]
        for wrong in ({"text": " "}, {"text": "x", "tags": "nightly"}, {"text": "x", "tags": 7}, {"project": " "}):
            with pytest.raises(InvalidRequest):
                db.summary.save(**{"project": "a", "text": "x"} | wrong)


def test_h16_the_template_is_filled_by_what_statuses_mean(tmp_path: Path) -> None:
    """Open bugs, decisions and kinds of one's own never reached the template."""
    clock = ManualClock(NOW)
    with memory(tmp_path / "a.meh", clock=clock, config=Config(schemas={"shop": ORDERS})) as db:

        def note(kind: str, status: str, text: str) -> str:
            return reworked(db, text.split()[-1], text, kind=kind, status=status or None, project="shop")

        held = note("order", "held", "an order on hold")
        sent = note("order", "new", "an order that is sent")
        bug = note("bug", "in_progress", "# a heading\n\n## the bug's own\nwords")
        chosen = note("decision", "approved", "we ship on Mondays\n## State\n[forged]")
        note("fact", "", "the shop is in Porto")
        db.summary.save("shop", "so far")
        clock.advance(MINUTE)
        note("order", "sent", "an order that is sent")
        note("decision", "implemented", "we ship on Mondays\n## State\n[forged]")
        template = db.summary.check("shop", force=True).template
        assert template is not None
        parts = dict(part.split("\n", 1) for part in template.split("\n## ")[1:])
        assert list(parts) == ["State", "Decisions", "Open", "Next"]
        assert set(parts["Decisions"].split("\n")) - {""} == {
            f"- order [sent] an order that is sent ({sent})",
            f"- decision [implemented] State ({chosen})",
        }
        assert set(parts["Open"].split("\n")) - {""} == {
            f"- order [held] an order on hold ({held})",
            f"- bug [in_progress] the bug's own ({bug})",
        }
        assert "1 bug, 1 decision, 1 fact, 2 order" in parts["State"]


# -- B26: options --------------------------------------------------------------------------------------------


def test_b26_options_of_the_config_are_honoured(tmp_path: Path) -> None:
    """Limits stood in the configuration, and nobody read them."""
    options = SummarySection(turns=3, context_pct=50, items=2, decisions=1)
    config = Config(summary=options, recall=RecallSection(universal="lore"))
    with memory(tmp_path / "a.meh", config=config) as db:
        for number in range(4):
            db.remember(f"decided {number}", kind="decision")
            db.remember(f"learnt {number}", kind="insight", project="Lore")
        assert len(db.brief("default").projects[0].decisions) == 1
        assert len(db.brief("default", decisions=3).projects[0].decisions) == 3
        assert db.brief("default", decisions=0).projects[0].decisions == ()
        assert {item.title for item in db.brief().insights} == {f"learnt {number}" for number in range(4)}
        assert len(db.summary.check().changes) == 2
        db.summary.save("default", "so far")
        assert not db.summary.check(turns=2, context_pct=51).needed
        assert db.summary.check(turns=3).trigger == "turn_interval"
        assert db.summary.check(context_pct=50).trigger == "context_pressure"
        for wrong in (-1, 101, True, "3"):
            with pytest.raises(InvalidRequest):
                db.brief(decisions=wrong)  # type: ignore[arg-type]


# -- H17: brief ----------------------------------------------------------------------------------------------


def test_h17_brief(tmp_path: Path) -> None:
    clock = ManualClock(NOW)
    with memory(tmp_path / "a.meh", clock=clock, config=Config(schemas={"shop": ORDERS})) as db:
        for number in range(7):
            db.remember(f"order {number}", project="shop", kind="order", status="held" if number % 2 else "new")
            clock.advance(MINUTE)
        db.remember("sent", project="shop", kind="order", status="sent")
        db.remember("broken", project="shop", kind="bug", status="open")
        db.remember("## Ship on Mondays\nbecause of the ferry", project="shop", kind="decision", status="approved")
        text = "word " * 200
        summary = db.summary.save("shop", text)
        gone = db.remember("thrown away", project="trash only").id
        db.forget(gone)
        db.archive.append_many([{"text": "hello", "project": "talk"}])
        told = db.brief()
        assert [one.project for one in told.projects] == ["shop", "talk", "trash only"]
        shop, talk, trash = told.projects
        assert [(o.kind, o.count, len(o.newest)) for o in shop.open] == [
            ("bug", 1, 1),
            ("decision", 1, 1),
            ("order", 7, 5),
        ]
        assert [item.title for item in shop.open[2].newest] == [f"order {number}" for number in (6, 5, 4, 3, 2)]
        assert [(item.title, item.status) for item in shop.decisions] == [("Ship on Mondays", "approved")]
        assert shop.kinds == {"bug": 1, "decision": 1, "order": 8, "progressive_summary": 1}
        assert shop.tiers == {"active": 11, "archived": 0, "trashed": 0}
        assert shop.summary is not None
        assert (shop.summary.id, shop.summary.stale, shop.summary.changes) == (summary.id, False, 0)
        assert (len(shop.summary.text), shop.summary.cut) == (500, True)
        assert (talk.messages, talk.changed_at, talk.summary) == (1, None, None)
        assert (trash.tiers["trashed"], trash.kinds) == (1, {})
        clock.advance(DAY)
        db.remember("one more", project="shop")
        later = db.brief("SHOP").projects
        assert len(later) == 1
        assert later[0].summary is not None
        assert (later[0].summary.stale, later[0].summary.changes) == (True, 1)


def test_h17_an_unknown_project_is_all_zeros(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        db.remember("somewhere else")
        (told,) = db.brief("nobody").projects
        assert (told.project, told.summary, told.open, told.kinds, told.messages) == ("nobody", None, (), {}, 0)
        assert set(told.tiers.values()) == {0}


def test_h17_what_concerns_the_whole_memory(tmp_path: Path) -> None:
    clock = ManualClock(NOW)
    config = Config(retention=RetentionSection(days={"note": 30}, every_hours=0))
    backups = Backups(folder=tmp_path / "copies", every_commits=1)
    with memory(tmp_path / "a.meh", clock=clock, embedder=HashEmbedder(16), config=config, backups=backups) as db:
        db.remember("near its end")
        clock.advance(22 * DAY)
        db.remember("young")
        before = db.brief()
        assert (before.projects[0].retiring, before.without_vector) == (0, 2)
        assert (before.dreamt_at, before.maintained_at) == (None, None)
        clock.advance(DAY)
        db.search("of varnish", session="s", auto_create=True)
        db.dream()
        db.maintain()
        db.backups.wait()  # type: ignore[union-attr]
        told = db.brief()
        assert told.projects[0].retiring == 1
        assert (told.dreamt_at, told.maintained_at) == (NOW + 23 * DAY, NOW + 23 * DAY)
        assert told.backup_at is not None
        assert told.at == NOW + 23 * DAY
    with memory(tmp_path / "a.meh", clock=clock) as db:
        assert (db.brief().without_vector, db.brief().backup_at) == (None, None)


def test_h17_open_and_settled_change_with_the_status(tmp_path: Path) -> None:
    """A brief counts from the groups; they follow every change of a note."""
    with memory(tmp_path / "a.meh") as db:
        reworked(db, "b", "it leaks", kind="bug", status="open")
        assert db.brief().projects[0].open[0].count == 1
        reworked(db, "b", "it leaks", kind="bug", status="fixed")
        assert db.brief().projects[0].open == ()
        db.checkpoint()
        reworked(db, "b", "it leaks", kind="bug", status="in_progress")
        assert db.brief().projects[0].open[0].newest[0].status == "in_progress"


def test_h16_a_summary_may_say_what_it_is_made_of(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        bug = db.remember("crash", kind="bug", project="web")
        first = db.summary.save("web", "one", links=[bug.id])
        second = db.summary.save("web", "two", links=[("part_of", bug.id)])
        assert (first.links, first.link_types) == ((bug.id,), ("related",))
        assert set(zip(second.links, second.link_types, strict=True)) == {
            (bug.id, "part_of"),
            (first.id, "supersedes"),
        }
        for links in ("abc", [7]):
            with pytest.raises(InvalidRequest, match="links"):
                db.summary.save("web", "three", links=links)  # type: ignore[arg-type]
