"""Files that earlier builds have written open in this one, and say the same."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from memhop.core.meh_file import MehFile, Write
from tests.support.make_fixture import BATCHES, CHECKPOINT_AFTER, FIXTURE, FIXTURES, META, RECORDS, SECTION, build
from tests.support.workload import NOTE, records_of

HEAD_DIGEST = "b74b387c57da97b226eee6f4934e544b6a7875fa24864a2f34c0cca074574eba"


@pytest.mark.parametrize("name", ["v1.meh", "v1-chained.meh"])
def test_version_1_opens_and_goes_on(tmp_path: Path, name: str) -> None:
    fixture, path = FIXTURES / name, tmp_path / "v1.meh"
    shutil.copy(fixture, path)
    with MehFile.open(path) as file:
        assert file.recovery.clean
        assert records_of(file) == RECORDS
        assert file.commit_number == len(BATCHES)
        assert file.covers == CHECKPOINT_AFTER
        assert file.meta == META
        assert list(file.segments()[0].view("thirds")) == SECTION
        assert file.head_digest.hex() == HEAD_DIGEST
        assert file.verify(deep=True).ok
        assert path.read_bytes() == fixture.read_bytes(), "reading changes nothing"
        file.append([Write(NOTE, 9, b"goes on")])
        file.checkpoint({}, meta={})
        file.compact(dict, meta={}, keep_history=True)
    with MehFile.open(path) as file:
        assert records_of(file) == {**RECORDS, 9: (NOTE, b"goes on")}
        assert file.verify(deep=True).ok


def test_this_build_still_writes_version_1_byte_for_byte() -> None:
    """A change of the bytes is a change of the format: it needs a new fixture, and where older builds would be misled
    a new version."""
    assert build() == FIXTURE.read_bytes()
    assert FIXTURE.stat().st_size < 64 * 1024
