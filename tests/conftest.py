"""`start` begins processes; none of them outlives its test. `large` is a memory in which everything is large."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.large_memory import World, build
from tests.support.processes import Starter, workers


@pytest.fixture
def start() -> Iterator[Starter]:
    with workers() as starter:
        yield starter


@pytest.fixture(scope="session")
def large(tmp_path_factory: pytest.TempPathFactory) -> World:
    return build(tmp_path_factory.mktemp("large") / "large.meh")
