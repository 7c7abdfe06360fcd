"""The unit table behaves like a list of dictionaries, however it was sealed, merged and attached again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memhop.common.errors import InvalidRequest, StorageError
from memhop.index.parts import Part
from memhop.index.units import UnitTable
from tests.index.mapped import frozen

LABELS = {"layer": "u1", "at": "i8", "session": "u8"}
BIG = 2**64 - 3  # ids and sessions near the top of u64 show comparisons that went through floats

Row = dict[str, int]


class Model:
    """What the table should hold: a list of rows, None for the dead, and where each part begins."""

    def __init__(self) -> None:
        self.table = UnitTable(LABELS)
        self.rows: list[tuple[int, Row] | None] = []
        self.parts: list[tuple[int, Part]] = []
        self.starts: list[int] = []
        self.next_number = 3

    def seal(self, first_part: int) -> None:
        start = self.starts[first_part] if first_part < len(self.parts) else len_of(self.parts)
        self.parts[first_part:] = [(self.next_number, frozen(self.table.seal(first_part)))]
        self.starts[first_part:] = [start]
        self.next_number += 1
        self.rows[start:] = [row for row in self.rows[start:] if row is not None]
        self.table.attach(self.parts)

    def check(self) -> None:
        table, rows = self.table, self.rows
        assert table.size == len(rows)
        assert table.live.tolist() == [row is not None for row in rows]
        assert table.count == sum(row is not None for row in rows)
        for ordinal, row in enumerate(rows):
            if row is not None:
                assert table.ordinal(row[0]) == ordinal
                assert int(table.ids[ordinal]) == row[0]
                assert {name: int(table.column(name)[ordinal]) for name in LABELS} == row[1]
        asked = np.array([1, *(row[0] for row in rows if row), BIG], np.uint64)
        expected = [-1 if (at := table.ordinal(int(id_))) is None else at for id_ in asked]
        assert table.ordinals(asked).tolist() == expected
        neighbours = table.neighbours("session")
        previous, following = neighbours.arrays
        groups, sizes = neighbours.groups
        numbers: dict[int, int] = {}
        for ordinal, row in enumerate(rows):
            same = sorted(
                (candidate[1]["at"], other)
                for other, candidate in enumerate(rows)
                if row and candidate and candidate[1]["session"] == row[1]["session"] != 0
            )
            place = same.index((row[1]["at"], ordinal)) if row and same else 0
            assert previous[ordinal] == (same[place - 1][1] if place else -1)
            assert following[ordinal] == (same[place + 1][1] if place + 1 < len(same) else -1)
            if row and row[1]["session"]:
                assert numbers.setdefault(row[1]["session"], int(groups[ordinal])) == groups[ordinal]
                assert sizes[groups[ordinal]] == len(same)
            else:
                assert groups[ordinal] == -1
        assert len(set(numbers.values())) == len(numbers) == np.count_nonzero(sizes)


def len_of(parts: list[tuple[int, Part]]) -> int:
    return sum(len(part["sorted"]) for _, part in parts)


ids = st.sampled_from([1, 2, 3, BIG - 2, BIG - 1, BIG])
steps = st.one_of(
    st.tuples(st.just("add"), ids, st.integers(0, 255), st.sampled_from([0, 1, BIG])),
    st.tuples(st.just("add"), ids, st.integers(0, 255), st.just(1)),
    st.tuples(st.just("delete"), ids),
    st.tuples(st.just("set"), ids, st.sampled_from(["layer", "session"]), st.integers(0, 2)),
    st.tuples(st.just("seal"), st.integers(0, 3)),
    st.tuples(st.just("reopen")),
)


@given(st.lists(steps, max_size=40))
@settings(max_examples=250, derandomize=True, deadline=None)
def test_it_is_a_list_of_rows(script: list[tuple[Any, ...]]) -> None:
    model = Model()
    for step in script:
        alive = {row[0]: ordinal for ordinal, row in enumerate(model.rows) if row}
        match step:
            case ("add", id_, layer, session):
                row = {"layer": layer, "at": -layer, "session": session}
                if id_ in alive:
                    with pytest.raises(InvalidRequest):
                        model.table.add(id_, **row)
                else:
                    assert model.table.add(id_, **row) == len(model.rows)
                    model.rows.append((id_, row))
            case ("delete", id_):
                assert model.table.delete(id_) == alive.get(id_)
                if id_ in alive:
                    model.rows[alive[id_]] = None
            case ("set", id_, name, value):
                if id_ in alive:
                    model.table.set(alive[id_], name, value)
                    row_of(model, alive[id_])[name] = value
            case ("seal", first):
                model.seal(min(first, len(model.parts)))
        model.check()


def row_of(model: Model, ordinal: int) -> Row:
    entry = model.rows[ordinal]
    assert entry is not None
    return entry[1]


def test_a_change_to_an_old_unit_survives_the_merge_of_the_part_that_recorded_it() -> None:
    """Deaths and patches are written into the next part; merging that part must carry those of still older units."""
    model = Model()
    for id_ in (10, 11, 12):
        model.table.add(id_, layer=1)
    model.rows = [(id_, {"layer": 1, "at": 0, "session": 0}) for id_ in (10, 11, 12)]
    model.seal(0)
    model.table.delete(11)
    model.rows[1] = None
    model.table.set(2, "layer", 9)
    row_of(model, 2)["layer"] = 9
    model.seal(1)
    model.check()
    model.seal(1)
    model.check()
    assert model.parts[1][1]["dead.place"].tolist() == [1]
    model.seal(0)
    model.check()
    assert model.table.size == 2
    assert len(model.parts[0][1]["dead.place"]) == 0


def test_sealing_without_merging_costs_only_what_changed() -> None:
    table = UnitTable(LABELS)
    for id_ in range(1, 1001):
        table.add(id_)
    parts = [(1, table.seal(0))]
    table.attach(parts)
    table.delete(500)
    sections = table.seal(1)
    assert sum(len(array) for array in sections.values()) == 2


def test_opening_reads_no_section_and_a_lookup_no_label() -> None:
    table = UnitTable(LABELS)
    for id_ in range(1, 100):
        table.add(id_, session=7)
    asked: list[str] = []

    class Recorder(dict[str, Any]):
        def __getitem__(self, name: str) -> Any:
            asked.append(name)
            return super().__getitem__(name)

    part = Recorder(table.seal(0))
    table.attach([(1, part)])
    assert asked == []
    assert table.ordinal(42) == 41
    assert not any("label" in name for name in asked)


@pytest.mark.parametrize(
    ("labels", "field"),
    [({"layer": 256}, "layer"), ({"layer": -1}, "layer"), ({"colour": 1}, "labels"), ({"at": 2**63}, "at")],
)
def test_a_refused_unit_leaves_nothing_behind(labels: dict[str, int], field: str) -> None:
    table = UnitTable(LABELS)
    table.add(1, layer=1)
    with pytest.raises(InvalidRequest) as caught:
        table.add(2, **labels)
    assert caught.value.field == field
    assert table.size == 1
    assert table.add(2, layer=2) == 1


def test_sections_that_do_not_fit_are_refused() -> None:
    table = UnitTable(LABELS)
    table.add(5, layer=1)
    table.add(6, layer=2)
    good = table.seal(0)
    faults: list[tuple[str, Any]] = [
        ("places", np.array([0], np.uint32)),
        ("sorted", np.array([5, 6], np.int64)),
        ("places", np.array([0, 2], np.uint32)),
        ("label.layer", np.array([1], np.uint8)),
        ("dead.part", np.array([1], np.uint32)),
    ]
    for name, array in faults:
        table.attach([(1, {**good, name: array})])
        with pytest.raises(StorageError):
            (table.ordinal(5), table.ids, table.column("layer"))
    table.attach([(1, {name: array for name, array in good.items() if name != "label.at.values"})])
    with pytest.raises(StorageError, match="0 rows instead of 2"):
        table.column("at")


def test_a_label_that_does_not_exist_is_named() -> None:
    table = UnitTable(LABELS)
    table.add(1)
    with pytest.raises(InvalidRequest, match="layer, at, session"):
        table.column("colour")
    with pytest.raises(InvalidRequest):
        table.set(1, "layer", 1)
