"""A file that a newer MemHop wrote is refused in one line that names both versions, and left as it is."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest

from memhop import DB, BadFormat
from memhop.core.format import GENESIS_PAYLOAD, HEADER_CRC_OFFSET, HEADER_OFFSETS, HEADER_SIZE, LOG_START, VERSION
from memhop.core.frame import encode
from tests.cli.running import memhop
from tests.support.make_fixture import FULL

NEWER = (VERSION + 1).to_bytes(2, "little")
FEATURE = (1 << 31).to_bytes(4, "little")


def header_says(at: int, value: bytes) -> bytes:
    """The fixture with a field of both headers overwritten, checksums right."""
    data = bytearray(FULL.read_bytes())
    for start in HEADER_OFFSETS:
        data[start + at : start + at + len(value)] = value
        crc = zlib.crc32(data[start : start + HEADER_CRC_OFFSET])
        data[start + HEADER_CRC_OFFSET : start + HEADER_SIZE] = crc.to_bytes(4, "little")
    return bytes(data)


def genesis_says(at: int, value: bytes) -> bytes:
    """The fixture without headers, a field of its genesis frame overwritten."""
    data = FULL.read_bytes()
    payload = bytearray(data[LOG_START + 24 :][: GENESIS_PAYLOAD.size])
    payload[at : at + len(value)] = value
    frame = encode(1, 0, 0, bytes(payload), seed=0)
    return bytes(LOG_START) + frame + data[LOG_START + len(frame) :]


@pytest.mark.parametrize(
    ("data", "named"),
    [
        (header_says(8, NEWER), f"version {VERSION + 1}"),
        (genesis_says(0, NEWER), f"version {VERSION + 1}"),
        (header_says(12, FEATURE), "0x80000000"),
        (genesis_says(4, FEATURE), "0x80000000"),
    ],
    ids=["version", "version in genesis", "feature", "feature in genesis"],
)
def test_a_file_from_the_future_is_refused_in_one_line(data: bytes, named: str, tmp_path: Path) -> None:
    path = tmp_path / "future.meh"
    path.write_bytes(data)
    with pytest.raises(BadFormat) as refused:
        DB.open(path)
    for command in (("stats",), ("recall", "kayak"), ("remember", "kayak")):
        ran = memhop(*command, "--file", path)
        assert (ran.code, ran.out) == (1, "")
        for line in (str(refused.value), ran.err.removesuffix("\n")):
            assert "\n" not in line
            assert named in line
            assert f"{VERSION}" in line.replace(named, "")
            assert str(path) in line
            assert "update memhop" in line
    assert path.read_bytes() == data
    assert list(tmp_path.iterdir()) == [path], "a side file was left"
