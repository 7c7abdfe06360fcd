"""Neighbouring turns about one thing, gathered without a model.

    blocks of a scene --cohesion--> runs of 2..8 blocks --extract--> up to 6 sentences of theirs, word for word

Nothing is written that was not said, so no number, name or negation can be lost or invented on the way.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from memhop.models import cohesion
from memhop.models.extract import shown, telling
from memhop.models.material import Block, Group, Statement
from memhop.models.offline_keywords import keywords

KEYWORDS: Final = 12


def consolidate(blocks: Sequence[Block]) -> tuple[Group, ...]:
    """Groups of 2..8 neighbouring blocks that speak of the same thing, in order.

    Blocks that fit nowhere are in no group, nor are runs that state nothing (only questions and greetings). No gap
    within a group is over 6 hours. Same blocks: same groups.

    Args:
        blocks: Of one scene, in time order.

    Cost: O(n log n) in blocks; about 1 ms for a group of short turns.
    """
    terms, weight = cohesion.weights(blocks)
    groups = []
    for run in cohesion.runs(blocks, terms, weight):
        members = blocks[run.start : run.stop]
        told = telling([said for block in members for said in block.turns], weight, math.log(1.0 + len(blocks)))
        if told:
            stated = tuple(Statement(shown(said.speaker, sentence), (said.id,)) for said, sentence in told)
            words = keywords(" ".join(sentence for _, sentence in told), KEYWORDS)
            groups.append(Group(tuple(block.id for block in members), stated, tuple(words)))
    return tuple(groups)
