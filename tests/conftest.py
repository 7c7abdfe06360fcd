"""`start` begins processes; none of them outlives its test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.processes import Starter, workers


@pytest.fixture
def start() -> Iterator[Starter]:
    with workers() as starter:
        yield starter
