"""The sentences of a turn, each with a vector of its own.

What somebody says in one turn is often about several things, of which one answers a question. The vector of the whole
turn stands between them and near none. So a turn of several sentences is kept as one row for each of them, the sum of
the sentence's vector and the turn's brought to unit length: the sentence in the light of what it was said with.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST: Final = 16  # sentences of one turn; a longer one keeps the vector of the whole
_WORDS: Final = 3  # fewer say nothing alone: "Thanks!"
_END = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])\s*|(?=\[)")
_WORD = re.compile(r"[^\W_]+?(?=[^\x00-\u2e7f]|\b)|[^\x00-\u2e7f]")


def sentences(text: str, speaker: str = "") -> list[str]:
    """What is worth a vector of its own, each after the speaker's name; [] where the whole is as good.

    Greetings are not, nor questions, which tell nothing.

    >>> sentences("Thanks, Bo! I began to swim in May. The pool is new. Do you know it?", "Ann")
    ['Ann: I began to swim in May.', 'Ann: The pool is new.']
    """
    parts = [part for part in map(str.strip, _END.split(text)) if len(_WORD.findall(part)) >= _WORDS]
    telling = [part for part in parts if not part.endswith(("?", "？"))]
    if len(parts) < 2 or len(telling) > MOST:
        return []
    return [f"{speaker}: {part}" if speaker else part for part in telling]


def split(text: str) -> list[str]:
    """The sentences of a text, word for word: each is a piece of it, stripped, none is blank. A line ends one."""
    return [part for line in text.splitlines() for part in map(str.strip, _END.split(line)) if part]


def in_light_of(whole: NDArray[np.float32], parts: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rows for the sentences of a turn, of unit length.

    Args:
        whole: The turn's vector, of unit length.
        parts: One row for each sentence, of unit length or 0, then the row is `whole`.
    """
    import numpy as np

    rows = parts + whole
    lengths = np.sqrt(np.vecdot(rows, rows))[:, None]
    unit: NDArray[np.float32] = np.where(lengths > 1e-3, rows / np.maximum(lengths, 1e-3), whole).astype(np.float32)
    return unit
