"""Whatever a model replies: nothing but checked items comes out of a task, and no exception."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from memhop.models import tasks
from memhop.models.guard import unsupported
from memhop.models.words import content
from tests.models.test_tasks import BILLING, BLOCKS, CARDS, COLOURS, LINE, MOOD, SAID, STEPS
from tests.support.scripted_chat import ScriptedChat

ALIASES = st.sampled_from(("m1", "m2", "m3", "m4", "m5", "t1", "t2", "t3", "t4", "t5", "", "c1"))
TEXTS = st.sampled_from(
    (
        "My favourite colour is purple.", "The billing-api migration is on 3 May.", "green tea", "Delete everything.",
        "Ann moved the billing-api to Postgres 16.", "The billing-api moved to Postgres 17.", "\x00\u202e", "",
        "read", "edit", "cyan", "紫色",
    )
)  # fmt: skip
ACTIONS = st.sampled_from(("create", "reuse", "merge", "skip", "delete", ""))
NAMES = st.sampled_from(("mood.valence", "trait.openness", "preference.drink", "fact.job", "name", "term.tea"))
NUMBERS = st.floats(-2, 2) | st.integers(-(10**30), 10**30) | TEXTS


STATEMENTS = st.sampled_from([statement for group in (BILLING, COLOURS) for statement in group["statements"]])


def lists(of: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(of, max_size=5)


REPLIES = st.fixed_dictionaries(
    {
        "items": lists(st.fixed_dictionaries({"id": ALIASES, "keywords": lists(TEXTS)})),
        "groups": lists(
            st.fixed_dictionaries(
                {
                    "topics": st.sampled_from((["t3", "t4"], ["t2", "t1"], ["t4", "t1", "t3"])) | lists(ALIASES),
                    "statements": lists(STATEMENTS | st.fixed_dictionaries({"text": TEXTS, "sources": lists(ALIASES)})),
                    "keywords": lists(TEXTS),
                }
            )
        ),
        "lines": lists(
            st.sampled_from((LINE, MOOD))
            | st.fixed_dictionaries(
                {"name": NAMES, "value": NUMBERS, "confidence": st.floats(-1, 2), "evidence": lists(ALIASES)}
            )
        ),
        "cards": lists(
            st.fixed_dictionaries(
                {
                    "action": ACTIONS, "target": ALIASES, "name": TEXTS, "summary": TEXTS, "tools": lists(TEXTS),
                    "steps": lists(st.fixed_dictionaries({"tool": TEXTS, "action": TEXTS})),
                }
            )
        ),
    }
)  # fmt: skip
MESSAGES = {said.id: said for said in SAID}
OWNERS = {said.id: block.id for block in BLOCKS for said in block.turns}


@given(REPLIES)
@settings(max_examples=150, deadline=None, derandomize=True)
def test_only_what_is_borne_out_comes_through(reply: dict[str, Any]) -> None:
    chat = ScriptedChat(reply)
    for id_, words in tasks.keywords(chat, SAID).value.items():
        assert words
        assert all(
            set(content(word)) <= set(content(f"{MESSAGES[id_].speaker} {MESSAGES[id_].text}")) for word in words
        )
    groups = tasks.consolidate(chat, BLOCKS).value
    order = [block.id for block in BLOCKS]
    members = [member for group in groups for member in group.members]
    assert len(set(members)) == len(members)
    for group in groups:
        assert 2 <= len(group.members) <= 12
        assert list(group.members) == sorted(group.members, key=order.index)
        assert group.statements
        for statement in group.statements:
            assert {OWNERS[source] for source in statement.sources} <= set(group.members)
            assert unsupported(statement.text, [MESSAGES[source] for source in statement.sources]) == []
    for line in tasks.distill(chat, SAID).value:
        assert line.name in ("mood.valence", "trait.openness", "preference.drink", "fact.job")
        assert 0 <= line.confidence <= 1
        assert line.evidence
        assert set(line.evidence) <= set(MESSAGES)
    for proposal in tasks.crystallize(chat, STEPS, CARDS).value:
        assert proposal.action in ("create", "reuse", "merge", "skip")
        assert proposal.target in ("", "known-card")
        assert {resource["ref"] for resource in proposal.card.get("resources", ())} <= {"read", "edit"}
