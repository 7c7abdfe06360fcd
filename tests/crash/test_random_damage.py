"""Random damage of every size: zeroed, overwritten, copied, deleted and cut pieces, several at once.

Whatever is left: open, verify, repair and a whole life afterwards raise nothing outside our error tree, and no
record is ever served with a payload that was not written under its id.
"""

from __future__ import annotations

import random

import pytest

from memhop.common.errors import BadFormat, Corrupt, StorageError
from memhop.core.meh_file import MehFile, Write
from memhop.core.repair import repair
from tests.crash.test_every_cut import life
from tests.support.seeds import ONLY, replayable, seeds
from tests.support.simulated_disk import SimulatedDisk
from tests.support.workload import NOTE, PATH, TURN, History, open_file, run

ROUNDS = 1200


def damaged(content: bytes, rng: random.Random) -> bytes:
    data = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 5])):
        at = rng.randrange(len(data) if rng.random() < 0.3 else 8192, len(data) + 1) if len(data) > 8192 else 0
        length = min(rng.choice([1, 4, 8, 24, 100, 512, 2000]), len(data) - at)
        piece = rng.randrange(5)
        if piece == 0:
            data[at : at + length] = bytes(length)
        elif piece == 1:
            data[at : at + length] = rng.randbytes(length)
        elif piece == 2:
            start = rng.randrange(max(1, len(data) - length))
            data[at : at + length] = data[start : start + length]
        elif piece == 3:
            del data[at : at + length]
        else:
            del data[at:]
    return bytes(data)


def served(file: MehFile) -> dict[int, tuple[int, bytes]]:
    found = {}
    for kind in (NOTE, TURN):
        for id_ in file.ids(kind):
            row = file.locate(id_)
            assert row is not None
            try:
                stored_kind, stored_id, payload = file.read(row[1])
            except Corrupt:
                continue
            assert (stored_kind, stored_id) == (kind, id_)
            found[id_] = (kind, payload)
    return found


def test_random_damage_is_survived_and_never_served(request: pytest.FixtureRequest) -> None:
    disk, history = SimulatedDisk(), History()
    run(disk, history)
    images = [(disk.bytes_of(PATH), history), life(closed=True), life(closed=False)]
    written = [{item for state in past.states for item in state.items()} for _, past in images]
    refused = 0
    for seed in seeds(ROUNDS):
        with replayable(seed, request.node.nodeid):
            refused += not survived(seed, images, written)
    assert ONLY or 0 < refused < ROUNDS // 2


def survived(seed: int, images: list[tuple[bytes, History]], written: list[set[tuple[int, tuple[int, bytes]]]]) -> bool:
    """Damage one of the images and go on with what is left. False: it was refused as no file of ours."""
    rng = random.Random(seed)
    which = rng.randrange(len(images))
    found = SimulatedDisk.holding(PATH, damaged(images[which][0], rng))
    try:
        repair(PATH, PATH.with_name("repaired.meh"), disk=found)
        file = open_file(found)
    except BadFormat:
        return False
    with file:
        assert written[which] >= set(served(file).items()), seed
        file.verify(deep=True)
        file.append([Write(NOTE, 777, b"goes on")])
        file.checkpoint({}, meta={"seed": seed})
    with open_file(found) as file:
        assert written[which] | {(777, (NOTE, b"goes on"))} >= set(served(file).items()), seed
        assert 777 in served(file), seed
        try:
            file.compact(dict, meta={})
        except Corrupt:
            assert not file.verify().ok, seed
    with MehFile.open(PATH.with_name("repaired.meh"), disk=found) as file:
        assert file.verify(deep=True).ok, seed
        assert written[which] >= set(served(file).items()), seed
    return True


def test_repair_never_overwrites() -> None:
    content, _ = life(closed=True)
    disk = SimulatedDisk.holding(PATH, content)
    with pytest.raises(StorageError, match="exists"):
        repair(PATH, PATH, disk=disk)
    assert disk.bytes_of(PATH) == content
