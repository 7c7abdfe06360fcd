"""JSON of any size, one item at a time: arrays, lines, and objects whose members are arrays.

The scanner knows strings and brackets only, so a value is taken out as bytes without being built; each is decoded by
itself afterwards. What is longer than `MOST_BYTES` is passed over and reported. Cost: about 100 MB/s, memory of one
item.

A stream that breaks off (a bad zip, a bomb) ends in one piece with a `fault`; a broken item costs itself only, as far
as its brackets are whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import msgspec

from memhop.common.errors import StorageError
from memhop.readers.item import MAX_RAW_BYTES, Rejected
from memhop.readers.source import PACKED_FAULTS, Member, Stream, unreadable

MOST_BYTES: Final = 64 * 1024 * 1024
_CHUNK: Final = 1024 * 1024
_LOOKED_AT: Final = 20  # lines
_BLANK: Final = b" \t\r\n"
_BOM: Final = b"\xef\xbb\xbf"
_INSIDE = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
_MARK = re.compile(rb'["\[\]{}]')
_SCALAR_END = re.compile(rb"[,\]}\s:]")
_DEEPEST = 200
_LONE = re.compile("[\ud800-\udfff]")
_OPENS: Final = b"[{"
_CLOSES: Final = b"]}"


class Piece(NamedTuple):
    """One value as it stands in the source. `key` is the member of the top-level object it belongs to, or ""."""

    place: str
    raw: bytes
    fault: str = ""
    key: str = ""

    def rejected(self, reason: str) -> Rejected:
        return Rejected(self.place, reason, self.raw[:MAX_RAW_BYTES])


class Parsed(NamedTuple):
    """A decoded piece."""

    place: str
    value: Any
    raw: bytes
    key: str = ""

    def rejected(self, reason: str) -> Rejected:
        return Rejected(self.place, reason, self.raw[:MAX_RAW_BYTES])


def decode(raw: bytes) -> Any:
    """A JSON value. Half surrogate pairs, which exports do contain, become U+FFFD; NaN and infinity are refused.

    Raises:
        ValueError: not JSON, nested too deep, or a number nobody can hold.
    """
    try:
        return _shallow(msgspec.json.decode(raw))
    except RecursionError:
        raise ValueError("nested too deep") from None
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        first = str(error)
    try:
        value = json.loads(raw.decode("utf-8"))  # NaN and infinity pass here, and fail in the next line
        return _shallow(msgspec.json.decode(_LONE.sub("\ufffd", json.dumps(value, ensure_ascii=False))))
    except RecursionError:
        raise ValueError("nested too deep") from None
    except (ValueError, msgspec.DecodeError):
        raise ValueError(f"not JSON: {first}") from None


def _shallow(value: Any) -> Any:
    """The value, if it is not nested deeper than whoever goes through it can follow. Raises RecursionError.

    Decoders of Python 3.12 and later go deeper than Python itself does.
    """
    level = [value]
    for _ in range(_DEEPEST):
        level = [
            inner
            for one in level
            if isinstance(one, dict | list)
            for inner in (one.values() if isinstance(one, dict) else one)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return value
    raise RecursionError


def parsed(pieces: Iterator[Piece]) -> Iterator[Parsed | Rejected]:
    """The pieces decoded; broken ones as `Rejected`."""
    for piece in pieces:
        if piece.fault:
            yield piece.rejected(piece.fault)
            continue
        try:
            value = decode(piece.raw)
        except ValueError as error:
            yield piece.rejected(str(error))
            continue
        yield Parsed(piece.place, value, piece.raw, piece.key)


def opened(member: Member, split: Callable[[Stream], Iterator[Piece]]) -> Iterator[Piece]:
    """The pieces of a stream; one with a fault if it cannot be opened, as an encrypted member of a zip cannot."""
    try:
        stream = member.open()
    except (StorageError, *PACKED_FAULTS) as error:
        yield Piece(member.name, b"", f"cannot be read: {error}")
        return
    with stream:
        yield from split(stream)


def records(stream: Stream, word: str) -> Iterator[Piece]:
    """What a stream lists: the items of its array, or its lines, or the values that follow each other in it.

    Args:
        word: What an item of the array is called in places, such as "conversation".
    """
    scanner = _Scanner(stream)
    number = 0
    if scanner.next() == ord("{") and _has_lines(scanner.rest()):
        yield from _lines(stream, scanner.rest())
        return
    while (first := scanner.next()) >= 0:
        if first == ord("["):
            yield from scanner.array(word, "")
        else:
            number += 1
            yield scanner.value(f"{word} {number}", "")
    yield from scanner.end(f"{word}s", "")


def lines(stream: Stream) -> Iterator[Piece]:
    """The lines of a stream that are not blank, numbered from 1 with the blank ones."""
    return _lines(stream, b"")


def members(stream: Stream) -> Iterator[Piece]:
    """The members of a top-level object; of one that is an array, each item of it by itself, under the same key."""
    scanner = _Scanner(stream)
    if scanner.next() == ord("{"):
        scanner.skip()
        while (char := scanner.next()) not in (-1, ord("}")):
            if char == ord(","):
                scanner.skip()
                continue
            name = scanner.value("a key", "")
            try:
                key = decode(name.raw)
            except ValueError:
                key = None
            if not isinstance(key, str) or scanner.next() != ord(":"):
                yield Piece("the object", name.raw[:MAX_RAW_BYTES], "a member without a name; the rest was not read")
                break
            scanner.skip()
            if scanner.next() == ord("["):
                yield from scanner.array(key, key)
            else:
                yield scanner.value(key, key)
        else:
            if char < 0:
                yield from scanner.end("the object", "the object is cut off")
    yield from scanner.end("the object", "")


def _has_lines(chunk: bytes) -> bool:
    """Whether one of the first lines is an object by itself, as no line of an object spread over lines is."""
    for line in chunk.split(b"\n", _LOOKED_AT)[:_LOOKED_AT]:
        if line.startswith(b"{"):
            try:
                return isinstance(decode(line), dict)
            except ValueError:
                continue
    return False


def _lines(stream: Stream, begun: bytes) -> Iterator[Piece]:
    number = 0
    try:
        for line in _raw_lines(stream, begun):
            number += 1
            text = line.removeprefix(_BOM) if number == 1 else line
            if len(text) > MOST_BYTES:
                yield Piece(f"line {number}", text[:MAX_RAW_BYTES], f"longer than {MOST_BYTES:,} bytes")
            elif text.strip():
                yield Piece(f"line {number}", text.strip(b"\r\n"))
    except StorageError:
        raise
    except (OSError, *PACKED_FAULTS) as error:
        yield Piece(f"line {number + 1}", b"", _fault(stream, error))


def _raw_lines(stream: Stream, begun: bytes) -> Iterator[bytes]:
    """Lines; of an overlong one its first part, a little more than `MOST_BYTES`."""
    *whole, last = begun.split(b"\n")
    yield from whole
    while line := last + stream.readline(MOST_BYTES + 2):
        last, more = b"", line
        while len(line) > MOST_BYTES and more and not more.endswith(b"\n"):
            more = stream.readline(_CHUNK)
        yield line


def _fault(stream: Stream, error: Exception) -> str:
    if isinstance(error, OSError) and not isinstance(error, PACKED_FAULTS):
        raise unreadable(getattr(stream, "name", "the source"), error) from error
    return f"the stream is broken: {error}"


class _Scanner:
    """A cursor over the bytes of a stream."""

    def __init__(self, stream: Stream) -> None:
        self.fault = ""
        self._told = False
        self._stream = stream
        self._chunk = b""
        self._at = 0
        self._fill()
        if self._chunk.startswith(_BOM):
            self._at = len(_BOM)

    def _fill(self) -> bool:
        """Read on, after the whole chunk was used. False at the end."""
        if self.fault:
            return False
        try:
            self._chunk = self._stream.read1(_CHUNK)
        except StorageError:
            raise
        except (OSError, *PACKED_FAULTS) as error:
            self._chunk = b""
            self.fault = _fault(self._stream, error)
        self._at = 0
        return bool(self._chunk)

    def rest(self) -> bytes:
        """What was read and not used."""
        return self._chunk[self._at :]

    def next(self) -> int:
        """The next byte that is not blank, not used up; -1 at the end."""
        while True:
            while self._at < len(self._chunk):
                char = self._chunk[self._at]
                if char not in _BLANK:
                    return char
                self._at += 1
            if not self._fill():
                return -1

    def skip(self) -> None:
        """Use up one byte."""
        self._at += 1

    def array(self, word: str, key: str) -> Iterator[Piece]:
        """The items of the array that begins here."""
        self.skip()
        number = 0
        while (char := self.next()) >= 0:
            if char == ord("]"):
                self.skip()
                return
            if char == ord(","):
                self.skip()
                continue
            number += 1
            yield self.value(f"{word} {number}", key)
        yield from self.end(f"{word} {number + 1}", "the array is cut off")

    def end(self, place: str, reason: str) -> Iterator[Piece]:
        """What is to be said of the end, once: the fault of the stream, or a reason if there is one."""
        if not self._told and (self.fault or reason):
            self._told = True
            yield Piece(place, b"", self.fault or reason)

    def value(self, place: str, key: str) -> Piece:
        """The value that begins here, as bytes. At least one byte is used."""
        parts: list[bytes] = []
        size = depth = 0
        quoted = escaped = closed = False
        scalar = self.next() not in b'"[{'
        start = self._at
        if scalar:
            self._at += 1
        while not closed:
            chunk, at = self._chunk, self._at
            if at < len(chunk):
                if scalar:
                    found = _SCALAR_END.search(chunk, at)
                    closed, at = found is not None, found.start() if found else len(chunk)
                elif escaped:
                    escaped, at = False, at + 1
                elif quoted:
                    inside = _INSIDE.match(chunk, at)
                    at = inside.end() if inside else at
                    if at < len(chunk):
                        quoted, escaped = chunk[at] != ord('"'), chunk[at] == ord("\\")
                        at += 1
                        closed = not quoted and not depth
                else:
                    mark = _MARK.search(chunk, at)
                    at = mark.end() if mark else len(chunk)
                    if mark:
                        char = chunk[at - 1]
                        quoted = char == ord('"')
                        depth += (char in _OPENS) - (char in _CLOSES)
                        closed = not quoted and depth <= 0
                self._at = at
                continue
            parts.append(chunk[start:])
            size += len(chunk) - start
            if size > MOST_BYTES:
                parts = [b"".join(parts)[:MAX_RAW_BYTES]]
            start = 0
            if not self._fill():
                break
        parts.append(self._chunk[start : self._at])
        size += self._at - start
        raw = b"".join(parts)
        if size > MOST_BYTES:
            return Piece(place, raw[:MAX_RAW_BYTES], f"longer than {MOST_BYTES:,} bytes", key)
        if closed or (scalar and not self.fault):
            return Piece(place, raw, "", key)
        self._told = True
        return Piece(place, raw[:MAX_RAW_BYTES], self.fault or "cut off in the middle", key)
