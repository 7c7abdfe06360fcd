"""L3: dated facts, on two axes of time.

A fact says that subject, predicate and value were so in a half-open period of the world's time. What was believed about
that period, and when, stays in the record: `earlier` holds the periods believed before, oldest first. So a fact that
was closed in May can still be shown as open to who asks what was known in April; compaction does not touch it.

    Ann · lives in · Graz      [1 March, 9 June)    recorded 2 March     earlier: until 11 June, [1 March, -)
    Ann · lives in · Linz      [9 June, -)          recorded 11 June

What is written when is a matter of `l3_timeline`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import ClassVar, Final, NamedTuple

import msgspec

from memhop.repo.l4_archive import dated
from memhop.repo.record import (
    Id,
    Kind,
    Layer,
    Listing,
    Ms,
    Record,
    Share,
    Unit,
    all_of,
    label,
    linked_to,
    name_label,
)

MOST_BELIEFS: Final = 256  # periods believed before that are kept; of older ones the oldest kept stands for all


class Belief(NamedTuple):
    """A period that was believed until `until` (exclusive), when something else was recorded."""

    until: Ms
    valid_from: Ms
    valid_to: Ms


class Fact(Record, frozen=True, kw_only=True, omit_defaults=True):
    """What was so in [valid_from, valid_to) of the world's time. A `valid_to` of 0: it still is.

    Attributes:
        sources: The records it was drawn from.
        own: It was asserted without a source, once at least: it stands by itself when its sources go.
        many: The subject may have several values at a time: each is a timeline of its own.
        retracted: It was taken back: it never was so. `earlier` says what had been believed, and until when.
    """

    KIND: ClassVar[Kind] = Kind.FACT
    subject: str
    predicate: str
    value: str
    valid_from: Ms = 0
    valid_to: Ms = 0
    sources: tuple[Id, ...] = ()
    recorded_at: Ms = 0
    earlier: tuple[Belief, ...] = ()
    retracted: bool = False
    many: bool = False
    own: bool = False
    confidence: Share = 1.0

    def listings(self) -> list[Listing]:
        groups = [
            all_of(self.KIND),
            about(self.subject),
            telling(self.predicate),
            told(self.subject, self.predicate),
        ]
        if not self.retracted:
            groups.append(self.timeline)
        found = [Listing(group, self.valid_from) for group in groups]
        return found + [Listing(linked_to(id_), 0) for id_ in dict.fromkeys(self.sources)]

    def unit(self) -> Unit | None:
        if self.retracted:
            return None
        return Unit(
            text=f"({period(self)}) {self.said}",
            plain=self.said,
            layer=Layer.KNOWLEDGE,
            kind=name_label("kind", "fact"),
            at=self.valid_from,
        )

    @property
    def said(self) -> str:
        """It in words."""
        return f"{self.subject} {self.predicate.replace('_', ' ')} {self.value}"

    @property
    def timeline(self) -> int:
        """The group in which periods do not overlap: of its subject and predicate, and of its value if it has many."""
        return timeline_of(self.subject, self.predicate, self.value if self.many else None)

    def holds(self, at: int) -> bool:
        """Whether it is believed to have been so at a time."""
        return not self.retracted and self.valid_from <= at and (not self.valid_to or at < self.valid_to)

    def says(self, value: str) -> bool:
        """Whether this is its value. Only white space may differ: `main` is not `Main`."""
        return self.value == value or self.value.split() == value.split()

    def as_known(self, at: int) -> Fact | None:
        """The fact as it was believed at a time: None if it was not recorded yet, or taken back already.

        Only the period is of then. Sources and confidence are those of now.
        """
        if at < self.recorded_at:
            return None
        for number, belief in enumerate(self.earlier):
            if at < belief.until:
                return msgspec.structs.replace(
                    self,
                    valid_from=belief.valid_from,
                    valid_to=belief.valid_to,
                    earlier=self.earlier[:number],
                    retracted=False,
                )
        return None if self.retracted else self

    @property
    def closed_at(self) -> int:
        """When its present end was recorded. 0: it has none."""
        if not self.valid_to:
            return 0
        for belief in reversed(self.earlier):
            if belief.valid_to != self.valid_to:
                return belief.until
        return self.recorded_at

    @property
    def retracted_at(self) -> int:
        """When it was taken back. 0: it was not."""
        if not self.retracted:
            return 0
        return self.earlier[-1].until if self.earlier else self.recorded_at


def revised(fact: Fact, valid_from: int, valid_to: int, now: int) -> Fact:
    """The fact with another period, recorded now; the very same object if the period is the same."""
    if (fact.valid_from, fact.valid_to) == (valid_from, valid_to) and not fact.retracted:
        return fact
    return msgspec.structs.replace(fact, valid_from=valid_from, valid_to=valid_to, earlier=_remembered(fact, now))


def taken_back(fact: Fact, now: int) -> Fact:
    """The fact as one that never was so, recorded now."""
    return msgspec.structs.replace(fact, retracted=True, earlier=_remembered(fact, now))


def _remembered(fact: Fact, now: int) -> tuple[Belief, ...]:
    return (*fact.earlier, Belief(now, fact.valid_from, fact.valid_to))[-MOST_BELIEFS:]


def period(fact: Fact) -> str:
    """The period in words: "since 8 May 2023", "8 May 2023 to 3 June 2023". UTC."""
    if fact.valid_to:
        return f"{dated(fact.valid_from)} to {dated(fact.valid_to)}"
    return f"since {dated(fact.valid_from)}"


@lru_cache(maxsize=1 << 12)
def folded(name: str) -> str:
    """A subject or predicate as it is compared: without case, forms of one character and white space made equal."""
    import unicodedata

    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def about(subject: str) -> int:
    """The group of facts on a subject."""
    return name_label("facts-about", folded(subject))


def telling(predicate: str) -> int:
    """The group of facts with a predicate."""
    return name_label("facts-telling", folded(predicate))


def told(subject: str, predicate: str) -> int:
    """The group of facts on a subject and predicate, those taken back among them."""
    return name_label("facts-told", folded(subject), folded(predicate))


def timeline_of(subject: str, predicate: str, value: str | None) -> int:
    """The group whose facts are in force one after another. `value`: None where there is one at a time."""
    if value is None:
        return name_label("facts-timeline", folded(subject), folded(predicate))
    return label("facts-timeline", folded(subject), folded(predicate), " ".join(value.split()))
