"""Seeds of random tests: told when one fails, and taken from MEMHOP_SEED to play that one again."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

ONLY = os.environ.get("MEMHOP_SEED")
NIGHTLY = os.environ.get("MEMHOP_NIGHTLY") == "1"


def seeds(count: int, *, nightly: int | None = None) -> Sequence[int]:
    """0, 1, … as many as asked for; of a nightly run as many as that wants; or the one that is to be played again."""
    return [int(ONLY)] if ONLY else range(nightly if NIGHTLY and nightly else count)


@contextmanager
def replayable(seed: int, test: str) -> Iterator[None]:
    """What is raised inside tells the seed, and the command that plays it again."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"seed {seed}; replay: MEMHOP_SEED={seed} python -m pytest -s '{test}'")
        raise
