"""What there is to run: an input by the seed of its mutation, a file as it is, or a round over one structure."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.fuzz import structures
from tests.fuzz.layout import Content, contents
from tests.fuzz.mutation import Damaged, damaged
from tests.fuzz.oracle import State, judge, states_of

HERE = Path(__file__).parent
CORPUS = HERE / "corpus"
FOUND = HERE / "found"
FIXTURES = HERE.parent / "fixtures"
HOSTILE = "hostile-"  # begins the names of corpus files in which checksums were forged
MUTATION, FILE, WARM_UP = "mutation", "file", "warm up"


class Job(NamedTuple):
    """`what` is MUTATION, FILE, WARM_UP, or the name of a property in `structures`."""

    what: str
    seed: int = 0
    path: str = ""

    @property
    def is_file(self) -> bool:
        """Whether it is about one whole file."""
        return self.what not in structures.NAMES

    @property
    def command(self) -> str:
        """The arguments of `python -m tests.fuzz` that run it again."""
        return f"--file {self.path}" if self.what == FILE else f"--only {self.what} --first {self.seed} --count 1"


@cache
def sources() -> dict[str, bytes]:
    """The files that mutations start from."""
    return {path.name: path.read_bytes() for path in sorted((*CORPUS.glob("*.meh"), *FIXTURES.glob("*.meh")))}


@cache
def _known() -> frozenset[Content]:
    return frozenset().union(*map(contents, sources().values()))


@cache
def _states() -> frozenset[State]:
    genuine = [data for name, data in sources().items() if not name.startswith(HOSTILE)]
    return frozenset(state for data in genuine for state in states_of(data))


def mutation(seed: int) -> Damaged:
    """The input of a seed."""
    return damaged(sources(), _known(), seed)


def run(job: Job, directory: Path) -> str:
    """Run it. Returns the outcome; raises whatever breaks a rule."""
    if job.what == MUTATION:
        made = mutation(job.seed)
        forged = made.forged or any(HOSTILE in step for step in made.recipe)
        return judge(made.data, made.said, directory, states=None if forged else _states())
    if job.what == FILE:
        data = Path(job.path).read_bytes()
        said = _known() | contents(data)
        genuine = job.path in map(str, CORPUS.glob("*.meh")) and not Path(job.path).name.startswith(HOSTILE)
        return judge(data, said, directory, states=_states() if genuine else None)
    if job.what == WARM_UP:
        data = max(sources().values(), key=len, default=b"")
        structures.round_of("manifest", 0, 3)  # hypothesis keeps a table of all characters
        return judge(data, contents(data), directory)
    structures.round_of(job.what, job.seed)
    return "held"
