"""The manifest: JSON that names the live segments of a checkpoint and carries the caller's `meta`.

    {"commit": 12, "time_ms": 1700000000000, "end": 9000, "digest": "9f…", "live_bytes": 4096,
     "previous": 5000,
     "segments": [{"number": 3, "first_commit": 1, "last_commit": 12, "records": 40, "offset": 9000, "bytes": 2048,
                   "sections": [["core.ids", "Q", 9088, 40, 305419896], …]}],
     "meta": {…}}

Like everything on disk it is hostile until checked: each field has a type and a range, segments must follow one
another and hold a record index, and each section must lie inside its segment's frame and that below the manifest.
"previous" is the offset of the manifest before this one, 0 or absent if there is none.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn

from memhop.common.errors import InvalidRequest
from memhop.core.format import (
    ALIGNMENT,
    DIGEST_SIZE,
    HEAD,
    LOG_START,
    MAX_MANIFEST,
    SECTION_ALIGNMENT,
    Point,
)
from memhop.core.segment import INDEX_TYPES, ITEM_SIZES, MAX_NAME, MAX_SECTIONS, MAX_SEGMENTS, Section, SegmentInfo

MAX_SEGMENT_NUMBER = 2**31  # fits into 32 bits for those who store it, with as much room to count on
MAX_META = 4 * 1024 * 1024
_SECTION_FIELDS = 5


class Manifest(NamedTuple):
    """A checkpoint. `covered` is the newest commit in it, `live_bytes` those of the live record frames there.

    `previous`: offset of the manifest before it, 0 if there is none.
    """

    covered: Point
    segments: tuple[SegmentInfo, ...]
    live_bytes: int
    meta: Mapping[str, Any]
    previous: int = 0


class _Unfit(Exception):
    """A field is missing or out of range. Never leaves this module."""


def check_meta(meta: Mapping[str, Any]) -> dict[str, Any]:
    """A caller's meta as it will be read back. Raises InvalidRequest if it is no JSON object, or too large."""
    try:
        text = json.dumps(dict(meta), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRequest(f"not JSON: {error}", field="meta", allowed="a dict of JSON values") from error
    if len(text) > MAX_META:
        raise InvalidRequest(f"{len(text)} bytes", field="meta", allowed=f"at most {MAX_META}")
    value: dict[str, Any] = json.loads(text)
    return value


def encode_manifest(manifest: Manifest) -> bytes:
    """The payload. The same manifest gives the same bytes."""
    covered = manifest.covered
    value = {
        "commit": covered.number,
        "time_ms": covered.time_ms,
        "end": covered.end,
        "digest": covered.digest.hex(),
        "live_bytes": manifest.live_bytes,
        "previous": manifest.previous,
        "segments": [
            {
                "number": info.number,
                "first_commit": info.first_commit,
                "last_commit": info.last_commit,
                "records": info.records,
                "offset": info.offset,
                "bytes": info.bytes,
                "sections": [list(section) for section in info.sections],
            }
            for info in manifest.segments
        ],
        "meta": dict(manifest.meta),
    }
    data = json.dumps(value, allow_nan=False, separators=(",", ":")).encode("ascii")
    if len(data) > MAX_MANIFEST:
        raise InvalidRequest(f"a manifest of {len(data)} bytes", field="meta", allowed=f"at most {MAX_MANIFEST}")
    return data


def decode_manifest(payload: bytes | memoryview, *, offset: int) -> Manifest | None:
    """The manifest in a payload found at `offset` whose CRC was good, or None where a field does not fit."""
    try:
        value = json.loads(bytes(payload), parse_constant=_refuse)
        return _manifest(value, offset)
    except (_Unfit, ValueError, RecursionError):
        return None


def _refuse(constant: str) -> NoReturn:
    raise _Unfit(constant)


def _int(value: Any, low: int, high: int) -> int:
    if type(value) is not int or not low <= value <= high:  # bool is not an int here
        raise _Unfit
    return value


def _dict(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _Unfit
    return value


def _list(value: Any, most: int) -> list[Any]:
    if not isinstance(value, list) or len(value) > most:
        raise _Unfit
    return value


def _manifest(value: Any, offset: int) -> Manifest:
    fields = _dict(value)
    digest = fields.get("digest")
    if not isinstance(digest, str) or len(digest) != 2 * DIGEST_SIZE:
        raise _Unfit
    covered = Point(
        _int(fields.get("commit"), 0, 2**63),
        _int(fields.get("time_ms"), 0, 2**62),
        _int(fields.get("end"), LOG_START, offset),
        bytes.fromhex(digest),
    )
    segments: list[SegmentInfo] = []
    number, commit = -1, -1
    for item in _list(fields.get("segments"), MAX_SEGMENTS):
        segments.append(_segment(_dict(item), number, commit, covered.number, offset))
        number, commit = segments[-1].number, segments[-1].last_commit
    return Manifest(
        covered,
        tuple(segments),
        _int(fields.get("live_bytes"), 0, offset),
        _dict(fields.get("meta")),
        _int(fields.get("previous", 0), 0, offset - 1),
    )


def _segment(fields: dict[str, Any], number: int, commit: int, covered: int, limit: int) -> SegmentInfo:
    offset = _int(fields.get("offset"), LOG_START, limit)
    size = _int(fields.get("bytes"), HEAD.size, limit - offset)
    first = _int(fields.get("first_commit"), commit + 1, covered)
    sections = [
        _section(item, offset + HEAD.size, offset + size) for item in _list(fields.get("sections"), MAX_SECTIONS)
    ]
    types = {section.name: section.typecode for section in sections}
    if len(types) < len(sections):
        raise _Unfit
    if offset % ALIGNMENT or not INDEX_TYPES.items() <= types.items():
        raise _Unfit
    return SegmentInfo(
        _int(fields.get("number"), number + 1, MAX_SEGMENT_NUMBER),
        first,
        _int(fields.get("last_commit"), first, covered),
        _int(fields.get("records"), 0, size),
        offset,
        size,
        tuple(sections),
    )


def _section(value: Any, first: int, end: int) -> Section:
    """A section in the bytes first..end. Written out flat: there are hundreds, and opening waits for them."""
    if type(value) is not list or len(value) != _SECTION_FIELDS:
        raise _Unfit
    name, typecode, at, count, crc = value
    item = ITEM_SIZES.get(typecode) if type(typecode) is str else None
    if item is None or type(name) is not str or not 0 < len(name) <= MAX_NAME:
        raise _Unfit
    if not type(at) is type(count) is type(crc) is int:  # bool is not an int here
        raise _Unfit
    if (
        not first <= at <= end
        or at % SECTION_ALIGNMENT
        or not 0 <= count <= (end - at) // item
        or not 0 <= crc < 1 << 32
    ):
        raise _Unfit
    return _new_section(Section, value)


_new_section = tuple.__new__  # without the check of the length, which was made
