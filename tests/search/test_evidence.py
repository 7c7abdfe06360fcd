"""Evidence handed on to neighbours, against a naive implementation that walks over every unit."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from memhop.index.units import UnitTable
from memhop.repo.record import ASKS
from memhop.search.evidence import Neighbourhood
from memhop.search.sparse import Workspace
from memhop.search.tuning import Evidence

SETTINGS = Evidence(kernel=(0.5, 0.25, 0.125), answer=0.75)  # sums of these are exact


@st.composite
def tables(draw: st.DrawFn) -> UnitTable:
    """Units of a few sessions, mixed, some of them dead."""
    table = UnitTable({"session": "u8", "flags": "u1", "at": "i8"})
    size = draw(st.integers(1, 40))
    for number in range(size):
        table.add(
            number + 1,
            session=draw(st.integers(0, 3)),
            flags=draw(st.sampled_from([0, ASKS, 2, ASKS | 2])),
            at=number,
        )
    for number in draw(st.sets(st.integers(1, size), max_size=size // 3)):
        table.delete(number)
    return table


def naive(table: UnitTable, x: NDArray[np.float64], settings_: Evidence) -> NDArray[np.float64]:
    """The formula of the module, unit by unit."""
    session, flags, live = table.column("session"), table.column("flags"), table.live
    y = np.array(x)
    for one in sorted(set(session[live].tolist()) - {0}):
        places = [place for place in range(table.size) if live[place] and session[place] == one]
        for i, place in enumerate(places):
            for distance, share in enumerate(settings_.kernel, 1):
                for j in (i - distance, i + distance):
                    if 0 <= j < len(places):
                        y[place] += share * x[places[j]]
            if i and flags[places[i - 1]] & ASKS:
                y[place] += settings_.answer * x[places[i - 1]]
    return y


@settings(max_examples=150, derandomize=True, deadline=None)
@given(table=tables(), seed=st.integers(0, 10_000))
def test_spread_equals_the_formula(table: UnitTable, seed: int) -> None:
    rng = np.random.default_rng(seed)
    workspace = Workspace()
    around = Neighbourhood(table, workspace, SETTINGS)
    for _ in range(2):  # twice: nothing of the first may linger
        x = np.where(table.live & (rng.random(table.size) < 0.4), rng.integers(1, 9, table.size), 0).astype(np.float64)
        docs = np.flatnonzero(x)
        reached, values = around.spread(docs, x[docs])
        dense = np.zeros(table.size)
        dense[reached] = values
        assert (dense == naive(table, x, SETTINGS)).all()
        assert len(set(reached.tolist())) == len(reached)
        assert (values > 0).all()
        assert around.widen(docs).tolist() == np.sort(reached).tolist()
        assert not workspace.array("spread", table.size).any()
        everywhere = np.flatnonzero(table.live)
        assert around.gather(everywhere, lambda places, x=x: x[places]).tolist() == dense[everywhere].tolist()  # type: ignore[misc]
        for place in range(table.size):  # whose evidence reaches this unit
            wanted = np.arange(table.size) == place
            near = around.within_reach(wanted)
            for other in everywhere.tolist():
                one = around.spread(np.array([other]), np.ones(1))[0]
                assert near[other] or place not in one


def test_nothing_reaches_beyond_a_session_or_into_the_dead() -> None:
    table = UnitTable({"session": "u8", "flags": "u1"})
    for id_, session in enumerate([7, 7, 8, 0, 0, 7], 1):
        table.add(id_, session=session, flags=ASKS)
    table.delete(2)
    reached, _ = Neighbourhood(table, Workspace(), SETTINGS).spread(np.array([0]), np.array([1.0]))
    assert sorted(reached.tolist()) == [0, 5]
    reached, _ = Neighbourhood(table, Workspace(), SETTINGS).spread(np.array([3]), np.array([1.0]))
    assert reached.tolist() == [3]


def test_saturation() -> None:
    around = Neighbourhood(UnitTable({"session": "u8", "flags": "u1"}), Workspace(), Evidence(saturation=0.5))
    share = around.saturated(np.array([0.5, 1e9, 1e-9]))
    assert share[0] == 0.5
    assert ((share >= 0) & (share <= 1)).all()
