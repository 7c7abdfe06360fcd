"""The .meh file, byte by byte. This module is the specification; other modules only name it.

A .meh file is two headers and one append-only log. All integers are little-endian, all times Unix milliseconds
UTC, all offsets absolute byte offsets in the file.

    offset     0  ┌────────────────────────┐
                  │ header A      4096 B   │  the header with the highest sequence and a good CRC is the
    offset  4096  ├────────────────────────┤  live one; a new one always overwrites the *other*
                  │ header B      4096 B   │
    offset  8192  ├────────────────────────┤
                  │ genesis frame          │  who this file is, once more
                  ├────────────────────────┤
                  │ frames …               │  the truth: batches of record frames, each closed by a commit
                  │                        │  frame; between batches, views (segments and manifests)
    published end ├────────────────────────┤
                  │ zeros (reserved space) │  posix_fallocate; kind 0 ends the log
                  └────────────────────────┘

Header, 4096 bytes (HEADER, then zeros, then the CRC in the last four bytes):

    size  field       meaning
       8  magic       89 'M' 'E' 'H' 0D 0A 1A 0A: a transfer in text mode breaks it visibly
       2  version     1
       2  zero
       4  required    feature bits a reader must know, else it must refuse
       4  optional    feature bits a reader may ignore
      16  uuid        the file's name for life; compaction keeps it
       4  salt        seeds the frame CRCs; drawn anew by compaction
       4  generation  1, and one more with each compaction
       8  sequence    of this header; the newest wins
       8  created_ms
      56  covered     point: what the checkpoint covers; replay starts at its end
       8  manifest    offset of the checkpoint's manifest frame; 0: no checkpoint, covered is the genesis base
      56  durable     point: the newest commit known to be on disk when this header was written
       8  published   no byte below is ever overwritten or cut
    3904  zero
       4  crc         CRC-32 of bytes 0..4091. Magic, version and this field stay where they are for ever.

Point, 56 bytes, the state just after a commit: number u64, time_ms i64, end u64 (offset just past it), digest 32 B.

Numbers of commits and headers, and times, are at most 2**62, generations at most 2**32 - 2: counting on never
overflows. A structure that states more does not check out, whatever its CRC says.

Frame, 24 bytes, then the payload, then zeros up to a multiple of 8:

    offset  size  field    meaning
         0     4  sync     F5 'm' 'e' 'h', so that a scan finds its feet again behind damage
         4     4  crc      CRC-32 of bytes 10..23 and the payload
         8     2  check    CRC-32 of bytes 10..23, its halves XORed: says that the head is whole when the payload
                           is not, and lets one wrong byte of a head be put right
        10     1  kind     0 end of log, 1 genesis, 2 commit, 3 segment, 4 manifest, 16..255 records
        11     1  flags    1 DELETED: a tombstone, payload empty. 2 PURGED: a tombstone after which compaction
                           drops every earlier version of the id even when it keeps history
        12     4  length   payload bytes; at most 64 MiB, segments 4 GiB - 64, manifests 8 MiB
        16     8  id       record id; 0 for the kinds below 16

    Both CRCs start from a seed, bits 32..63 of (salt XOR offset) * 0x9E3779B97F4A7C15: a frame that was left behind
    an overwritten tail, or copied elsewhere, does not verify. The genesis frame, the first one, starts from 0, for it
    tells the salt. The CRC of a segment frame covers the head only; its sections have their own.

Genesis payload: version u16, zero u16, required u32, uuid 16, salt u32, generation u32, created_ms u64, base
number u64, base time_ms i64, base digest 32. The base is where the chain of commits begins: (0, 0, BLAKE2b of
the uuid) in a new file, the old head in one that compaction wrote without history.

Commit payload, 104 bytes: number u64, time_ms i64, durable u64 (the newest commit known to be on disk when this
one was written), length u64 (bytes from the start of its batch to this frame), count u32 (frames of the batch),
zero u32, previous digest 32, digest 32. The digest is BLAKE2b-256 over the previous digest, bytes 10..23 and the
payload of each frame, and number, time_ms, count. It does not depend on offsets or salt: equal digest, equal history.

A manifest may stand behind commits it does not cover: where segments are merged, a checkpoint gets other segments and
covers what it did.

Segment payload: sections (flat arrays), each starting at a file offset divisible by 64. Manifest payload: JSON,
see core/manifest.py; it holds the directory of the sections, their typecodes and CRC-32s.

One id has at most one live record whatever its kind: the newest frame of the id, unless that is a tombstone.

Assumed of the disk: after fsync returns, all that was written is there. Until then any subset of the writes may
survive a crash, each of them in part, in any order, and what was reserved may read as zeros or not exist.
A renamed file is durable after its directory was fsynced.

What damage means. Let n be the commit that damaged bytes belong to. Whether they are the residue of a crash or rot
is not guessed from what the bytes look like: if the header or a later commit says that n was durable, no crash
can have undone it, so it is rot. Otherwise the writer may have died before fsync, and nobody was promised n.

    crash, while …                        what open finds                      what it does
 1  a batch is written                    frames without a good commit,        cut behind the last commit; saved
                                          any subset of its sectors            beside the file if not only zeros
 2  several batches wait for one fsync    a bad batch, perhaps good ones       the same: a prefix survives, never a
                                          behind it, none proven durable       later batch without an earlier one
 3  a segment or manifest is written      views that no header names           cut, not saved: they can be rebuilt
 4  a header is written                   one bad header                       the other one, and a longer replay
 5  a file is created                     no file, or a temporary one          temporary removed, created anew
 6  compaction writes or renames          the old file or the new one, whole   temporary removed
 7  recovery saves or cuts                the same as before recovery          the same again
    damage of another kind
 8  a frame of a proven commit            a CRC that fails, good neighbours    nothing is cut; the record answers
                                                                               Corrupt, all others are served
 9  a commit frame of a proven commit     a gap in the numbers                 its frames count, numbers go on
10  a header, a manifest, a core section  a CRC that fails                     the other header; replay of the log
11  both headers                          no good header                       genesis names salt and base; replay
12  the file is shorter than published    a proven commit is missing           the commits that are whole; said so

Invariants (each has a test of the same name in tests/core/test_invariants.py):
    I1  Bytes below the published end are never overwritten or cut.
    I2  A batch is all or nothing.
    I3  Views are never needed: without headers' manifest and segments the log gives the same records.
    I4  What was acknowledged with durability "full" is there after any crash.
    I5  Equal history, equal digest: compaction with history does not change the head digest.
    I6  A frame verifies only at its own offset of its own file.
    I7  Proven damage is never cut, and brings no older version of a record back: the record answers Corrupt.
        (Unless so much of the head is gone that the id cannot be told; then the report says so with id 0.)
    I8  Closing an unchanged file writes nothing.
    I9  Sections lie at multiples of 64 and frames at multiples of 8.

Several processes. One handle at a time writes, under the lock of a side file; it first replays what others have
appended since its last look, and cuts what a killed writer left behind the newest commit (cases 1 and 3 above).
Readers take no lock. They read what is behind their head with pread, map nothing beyond the published end that the
live header states (a commit behind it may still be taken back by a writer whose fsync fails), and believe damage
only when they see it twice, because a batch can be seen half written. A reader whose head is no longer where it
was, or whose live header names another manifest, loads the file anew; one that finds another inode at the path
moves over to it if the uuid is the same.

Downsides, known: a frame of 10 bytes takes 40; a commit costs 128 bytes; superseded frames, tombstones, commit
frames and old views stay until compaction. With durability "none" or "relaxed" a crash *and* rot in the unproven
tail cannot be told apart; the tail is then saved and cut.

Versions: 1 is current. A newer one is refused with BadFormat.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

MAGIC = b"\x89MEH\r\n\x1a\n"
VERSION = 1
KNOWN_REQUIRED = 0  # required feature bits which this build understands

HEADER_SIZE = 4096
HEADER_OFFSETS = (0, HEADER_SIZE)
LOG_START = len(HEADER_OFFSETS) * HEADER_SIZE

DIGEST_SIZE = 32
POINT = struct.Struct("<QqQ32s")
HEADER = struct.Struct(f"<8sHHII16sIIQQ{POINT.size}sQ{POINT.size}sQ")
HEADER_CRC_OFFSET = HEADER_SIZE - 4

SYNC = b"\xf5meh"
HEAD = struct.Struct("<4sIHBBIQ")
FIELDS = struct.Struct("<BBIQ")
FIELDS_OFFSET = HEAD.size - FIELDS.size
ALIGNMENT = 8
SECTION_ALIGNMENT = 64

END = 0x00
GENESIS = 0x01
COMMIT = 0x02
SEGMENT = 0x03
MANIFEST = 0x04
FIRST_RECORD_KIND = 0x10
LAST_RECORD_KIND = 0xFF

DELETED = 0x01
PURGED = 0x02

MAX_ID = 2**64 - 1
MAX_NUMBER = 2**62  # of a commit or header, and of milliseconds; what says more was not written by a MemHop
MAX_GENERATION = 2**32 - 2  # there is always a next one
MAX_PAYLOAD = 64 * 1024 * 1024
MAX_SEGMENT = 4 * 1024**3 - SECTION_ALIGNMENT
MAX_MANIFEST = 8 * 1024 * 1024
MAX_BATCH = 1024**3  # bytes of one append; compaction streams and is not bound by it

GENESIS_PAYLOAD = struct.Struct("<HHI16sIIQQq32s")
COMMIT_PAYLOAD = struct.Struct("<QqQQII32s32s")
COMMIT_TRAILER = struct.Struct("<QqI")  # what the digest takes in behind the frames

assert POINT.size == 56
assert HEADER.size == 188
assert HEADER.size <= HEADER_CRC_OFFSET
assert HEAD.size == 24
assert FIELDS_OFFSET == 10
assert GENESIS_PAYLOAD.size == 88
assert COMMIT_PAYLOAD.size == 104
assert LOG_START == 8192


class Point(NamedTuple):
    """The state just after a commit: its number and time, the offset just past its frame, its digest."""

    number: int
    time_ms: int
    end: int
    digest: bytes


def align(offset: int, alignment: int = ALIGNMENT) -> int:
    """The next multiple of `alignment`, a power of two, at or after `offset`."""
    return (offset + alignment - 1) & -alignment


def frame_size(length: int) -> int:
    """Bytes a frame with a payload of `length` takes in the file, padding included."""
    return align(HEAD.size + length)


COMMIT_FRAME_SIZE = frame_size(COMMIT_PAYLOAD.size)
assert COMMIT_FRAME_SIZE == 128


def longest_payload(kind: int) -> int:
    """The most payload bytes a frame of this kind may state."""
    return {SEGMENT: MAX_SEGMENT, MANIFEST: MAX_MANIFEST}.get(kind, MAX_PAYLOAD)
