"""The corpus, and a short stretch of what `make fuzz` does at length: the same inputs every time."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from tests.fuzz import inputs, process, structures
from tests.fuzz.inputs import CORPUS, FILE, HOSTILE, MUTATION, Job
from tests.fuzz.make_corpus import CASES
from tests.fuzz.mutation import damaged
from tests.fuzz.oracle import judge

MUTATIONS = 60
EXAMPLES = 30


def test_every_file_of_the_corpus_ends_as_it_should() -> None:
    jobs = [Job(FILE, path=str(CORPUS / f"{name}.meh")) for name in CASES]
    found = {Path(result.job.path).stem: result for result in process.run_all(jobs)}
    failures = {name: result.failure for name, result in found.items() if result.failure}
    assert failures == {}
    assert {name: result.outcome for name, result in found.items()} == {name: out for name, (out, _) in CASES.items()}


def test_the_corpus_is_small_and_told_in_full() -> None:
    sizes = {path.stem: path.stat().st_size for path in CORPUS.glob("*.meh")}
    assert sizes.keys() == CASES.keys()
    assert sum(sizes.values()) < 1_000_000
    assert max(sizes.values()) < 40_000


def test_mutations_of_fixed_numbers_break_no_rule() -> None:
    results = list(process.run_all(Job(MUTATION, number) for number in range(MUTATIONS)))
    assert [result for result in results if result.failure] == []
    assert {result.outcome for result in results} == {"clean", "damaged", "refused"}


@pytest.mark.parametrize("name", structures.NAMES)
def test_structures(name: str) -> None:
    structures.round_of(name, 0, EXAMPLES)


def test_an_input_is_made_from_its_number_alone() -> None:
    sources = {name: data for name, data in inputs.sources().items() if not name.startswith(HOSTILE)}
    made = [damaged(sources, frozenset(), number) for number in range(40)]
    assert made == [damaged(sources, frozenset(), number) for number in range(40)]
    assert {item.forged for item in made} == {True, False}
    assert len({item.data for item in made}) > 30


def test_the_oracle_notices_words_nobody_wrote(tmp_path: Path) -> None:
    """Were what may be served not looked at, all of the above would pass whatever was returned."""
    data = (CORPUS / "every-kind.meh").read_bytes()
    with pytest.raises(AssertionError, match="never written"):
        judge(data, frozenset(), tmp_path)


def misbehave(job: Job, directory: Path) -> str:
    """Stands for an input that makes a program do so."""
    if job.what == "hang":
        time.sleep(60)
    elif job.what == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif job.what == "greed":
        bytes(2 * process.SPARE_BYTES)
    return job.what


def test_a_hang_a_crash_and_a_greedy_allocation_are_findings() -> None:
    jobs = [Job(what) for what in ("hang", "crash", "greed", "nothing")]
    hung, crashed, greedy, nothing = process.run_all(jobs, run=misbehave, hang_s=1.0)
    assert hung.failure == "no answer within 1 seconds"
    assert crashed.failure == f"the process died with exit code -{int(signal.SIGSEGV)}"
    assert greedy.failure.rstrip().endswith("MemoryError")
    assert (nothing.outcome, nothing.failure) == ("nothing", "")
