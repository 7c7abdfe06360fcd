"""References between records: none is forgotten, and taking one out leaves what still means something."""

from __future__ import annotations

import typing
from typing import Annotated, Any

import pytest

from memhop.repo.codec import RECORD_TYPES
from memhop.repo.dreams import Dream, DreamStep
from memhop.repo.imports import ImportStep
from memhop.repo.l1_engram import Engram, Hyperedge
from memhop.repo.l2_context import Scene, Topic
from memhop.repo.l3_knowledge import KnowledgeNode
from memhop.repo.l4_archive import Message
from memhop.repo.l4_note import Note
from memhop.repo.l6_usage import Usage
from memhop.repo.l7_trajectory import Event
from memhop.repo.record import Id, Record
from memhop.repo.references import REFERENCES, references, without
from memhop.repo.vectors import EmbedFailure

NO_REFERENCE = {
    (EmbedFailure, "owner"),
    (DreamStep, "changes"),
    (Dream, "undone"),
    (ImportStep, "created"),
    (ImportStep, "updated"),
}  # of the type Id, and yet no reference


def _holds_ids(annotation: Any) -> bool:
    if typing.get_origin(annotation) is Annotated:
        return bool(annotation == Id)
    return any(_holds_ids(argument) for argument in typing.get_args(annotation))


def _id_fields(record_type: type[Record]) -> set[str]:
    hints = typing.get_type_hints(record_type, include_extras=True)
    return {field for field in record_type.__struct_fields__ if _holds_ids(hints[field])}


@pytest.mark.parametrize("record_type", RECORD_TYPES.values(), ids=lambda record_type: record_type.__name__)
def test_every_field_that_holds_ids_is_known(record_type: type[Record]) -> None:
    exempt = {field for owner, field in NO_REFERENCE if owner is record_type}
    assert exempt <= _id_fields(record_type)
    assert set(REFERENCES.get(record_type, ())) == _id_fields(record_type) - exempt


def test_the_introspection_sees_ids_however_they_are_wrapped() -> None:
    assert all(map(_holds_ids, (Id, tuple[Id, ...], dict[str, Id], Id | None)))
    assert not any(map(_holds_ids, (int, str, tuple[int, ...], dict[str, Any])))


def test_references_are_listed_field_by_field_without_zeros() -> None:
    topic = Topic(id=9, scene=1, children=(3, 2), messages=(4,), graphs=())
    assert list(references(topic)) == [("scene", 1), ("children", 3), ("children", 2), ("messages", 4)]
    assert list(references(Scene(id=1, name="a"))) == []


WORDS: list[tuple[Record, Record]] = [
    (Message(id=9, text="a", scene=1, topic=5), Message(id=9, text="a", topic=5)),
    (Note(id=9, text="a", links=(1, 2, 1)), Note(id=9, text="a", links=(2,))),
    (KnowledgeNode(id=9, graph=1, title="a"), KnowledgeNode(id=9, graph=0, title="a")),
    (Event(id=9, session="s", seq=1, type="t", message=1), Event(id=9, session="s", seq=1, type="t")),
    (Topic(id=9, scene=1, messages=(2,)), Topic(id=9, scene=0, messages=(2,))),
    (Topic(id=9, scene=2, messages=(1,), children=(3,)), Topic(id=9, scene=2, children=(3,))),
    (Topic(id=9, scene=2, messages=(1,), summary="s"), Topic(id=9, scene=2, summary="s")),
    (
        Hyperedge(id=9, relation="temporal", scenes=(1, 2, 3), weight=0.5),
        Hyperedge(id=9, relation="temporal", scenes=(2, 3), weight=0.5),
    ),
]


@pytest.mark.parametrize(("before", "after"), WORDS, ids=lambda record: type(record).__name__)
def test_what_still_means_something_stays(before: Record, after: Record) -> None:
    assert without(before, {1}) == after
    assert without(before, {77}) is before, "nothing it refers to is gone"
    assert all(target != 1 for _, target in references(after))


@pytest.mark.parametrize(
    "record",
    [
        Engram(id=9, scene=1),
        Hyperedge(id=9, relation="temporal", scenes=(1, 2), weight=0.5),
        Usage(id=9, target=1, hits=3),
        EmbedFailure(id=9, owner=2, space=1, attempts=1, retry_at=0),
        Topic(id=9, scene=2, messages=(1,), user_keywords=("kayak",)),
    ],
    ids=lambda record: type(record).__name__,
)
def test_what_means_nothing_any_more_goes(record: Record) -> None:
    assert without(record, {1}) is None


def test_an_absent_reference_is_not_taken_for_one_that_is_gone() -> None:
    message = Message(id=9, text="a")
    assert without(message, {0}) is message
