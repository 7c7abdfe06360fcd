"""Text to vectors: what an embedder promises, how its answers are checked, and one that needs no model.

Two embedders with the same (name, dim, digest) share a vector space; vectors of different spaces are never
compared. What an embedder returns is hostile until `check_vectors` has seen it. Long text is for the caller
to cut (`split_text`): the vectors of its pieces are kept side by side.

The other embedders: `embed_local` (static weights inside a wheel), `embed_onnx` (a transformer in a folder),
`embed_http` (Ollama, OpenAI-compatible).
"""

from __future__ import annotations

import math
import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from memhop.common.errors import EmbedderError, InvalidRequest
from memhop.models.stop_words import STOP_WORDS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_PIECES = 64
PIECE_CHARS = 1_000
_SMALLEST_PIECE = 16
_TINY = 1e-12  # a norm below this carries no direction


class Embedder(Protocol):
    """Turns texts into vectors of one space. Implementations are safe to call from several threads."""

    @property
    def name(self) -> str:
        """The model's name, part of the identity of the vector space."""
        ...

    @property
    def dim(self) -> int | None:
        """Numbers in a vector. None: not known before the first reply."""
        ...

    @property
    def digest(self) -> str:
        """Stands for the weights and settings that decide what a vector means. Known without any I/O."""
        ...

    @property
    def max_batch(self) -> int:
        """Texts that are worth handing over at once; longer lists are sent in parts of this size."""
        ...

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """One row per text, in order: float32, shape (len(texts), dim), rows of unit length.

        A row of zeros marks a text without a usable vector (blank, refused by the model, or answered with
        NaN, infinity, zeros or nothing): the other rows are good. `query` says that the texts are questions,
        which some models embed differently, and that somebody is waiting. As long as `dim` is None and no text
        needed a vector, the shape is (len(texts), 0).

        Raises:
            EmbedderError: the model could not be reached, or its whole answer is unusable.
            InvalidRequest: `texts` is not a sequence of str.
        """
        ...


class ReadingEmbedder(Embedder, Protocol):
    """A model that knows what it cannot read. An embedder without `reads` is believed to read everything."""

    def reads(self, text: str) -> float:
        """How much of a text the model has words for, 0..1: as little its vector counts. Raises as `embed` does."""
        ...


class TokenEmbedder(Embedder, Protocol):
    """A static model: a token has one vector wherever it stands, so token ids are all a unit has to store."""

    @property
    def vocabulary(self) -> int:
        """Number of tokens; ids are 0 .. vocabulary - 1."""
        ...

    def tokens(self, texts: Sequence[str]) -> list[NDArray[np.uint16] | NDArray[np.uint32]]:
        """The token ids of each text, in order, without special tokens: uint16 if all ids fit, or uint32."""
        ...

    def table(self) -> NDArray[np.float32]:
        """float32, shape (vocabulary, dim), read-only: unit rows; zeros for a token without a direction."""
        ...

    def stop_tokens(self) -> NDArray[np.bool_]:
        """bool, shape (vocabulary,), read-only: tokens without meaning of their own, to be given weight 0."""
        ...


class TokenVectors(NamedTuple):
    """The telling tokens of a text where they stand: ids, uint16 or uint32 [n], and unit rows, float32 [n, dim]."""

    ids: NDArray[np.uint16] | NDArray[np.uint32]
    vectors: NDArray[np.float32]


class ContextualEmbedder(Embedder, Protocol):
    """A model that gives a token another vector in another sentence, so that a unit has to store the vectors."""

    def embed_tokens(
        self, texts: Sequence[str], *, query: bool = False
    ) -> tuple[NDArray[np.float32], list[TokenVectors]]:
        """What `embed` returns, and each text's tokens in order, from the same pass.

        Left out are special tokens, tokens of words without meaning of their own (`means_nothing`), and tokens for
        which the model gave no usable vector; a text may be left with none. Raises as `embed` does.
        """
        ...


def check_vectors(array: NDArray[Any], n: int, dim: int | None) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Check what an embedder returned and scale it to unit length.

    Args:
        array: Anything array-like; expected shape (n, dim).
        n: Number of texts that were embedded.
        dim: Expected width. None: any, at least 1.

    Returns:
        `unit`, float32 (n, dim), and `good`, bool (n,). A row with NaN, infinity or no length is zeros in
        `unit` and False in `good`; one bad row does not spoil the others.

    Raises:
        EmbedderError: not numbers, or another shape. That is no matter of single rows.
    """
    import numpy as np

    try:
        with np.errstate(all="ignore"):
            wide = np.asarray(array).astype(np.float64, casting="same_kind")
    except (TypeError, ValueError) as error:
        raise EmbedderError("the embedder returned something that is no array of numbers") from error
    if wide.ndim != 2 or wide.shape[0] != n:
        raise EmbedderError(f"the embedder returned shape {wide.shape} for {n} texts")
    if wide.shape[1] < 1 or (dim is not None and wide.shape[1] != dim):
        raise EmbedderError(f"the embedder returned {wide.shape[1]} dimensions, expected {dim or 'at least 1'}")
    # Dividing by the largest part first keeps the squares of very large and very small rows in range.
    finite: NDArray[np.bool_] = np.logical_and.reduce(np.isfinite(wide), axis=1)
    wide = np.where(finite[:, None], wide, 0.0)
    largest = np.abs(wide).max(axis=1, keepdims=True)
    good: NDArray[np.bool_] = finite & (largest[:, 0] > _TINY)
    wide /= np.where(good[:, None], largest, 1.0)
    norms = np.sqrt(np.square(wide).sum(axis=1, keepdims=True))
    wide = np.where(good[:, None], wide / np.where(norms > 0.0, norms, 1.0), 0.0)
    return wide.astype(np.float32), good


def check_texts(texts: Sequence[str]) -> list[str]:
    """The texts as a list.

    Raises:
        InvalidRequest: a bare str, or an item that is no str.
    """
    allowed = "a sequence of str"
    if isinstance(texts, str):
        raise InvalidRequest("one str was given where several are taken", field="texts", allowed=allowed)
    listed = list(texts)
    for text in listed:
        if not isinstance(text, str):
            raise InvalidRequest(f"a {type(text).__name__} is no text", field="texts", allowed=allowed)
    return listed


_CLITICS = frozenset({"s", "t", "d", "m", "ll", "re", "ve"})  # what is left of 's, n't, 'd, 'm, 'll, 're, 've


def means_nothing(word: str, *, whole: bool = True) -> bool:
    """Whether a casefolded word says nothing by itself: no letter or digit in it, a single letter, what is left of a
    contraction, or a function word.

    Args:
        whole: False if it may be the inside of a longer word: then it is no function word, whatever it looks like.
    """
    if not any(character.isalnum() for character in word):
        return True
    if word.isascii() and (word in _CLITICS or (len(word) == 1 and word.isalpha())):
        return True
    return whole and word in STOP_WORDS


# --- an embedder without a model ----------------------------------------------------------------------------

_SCHEME = 1  # raised whenever a text would get another vector
_WORD = re.compile(r"[^\W_]+")
_IDEOGRAPHIC = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")


class HashEmbedder:
    """Fuzzy spelling, not meaning: hashed words and letter trigrams, signed and summed.

    "recieve" lies near "receive" and "databases" near "database", but "car" is no nearer to "automobile" than
    to "banana". It is for tests, for files without any model, and for finding misspelt text. Deterministic
    across processes and machines, offline. About 0.5 ms per 100 words.

    Feature hashing with a sign bit after Weinberger et al., "Feature Hashing for Large Scale Multitask
    Learning" (2009); counts are dampened to 1 + ln(count).

    Args:
        dim: Numbers in a vector, 16..4096. Fewer mean more words sharing a place.

    Raises:
        InvalidRequest: `dim` out of range.
    """

    max_batch = 256
    name = "hash"

    def __init__(self, dim: int = 256) -> None:
        if isinstance(dim, bool) or not isinstance(dim, int) or not 16 <= dim <= 4096:
            raise InvalidRequest(f"{dim!r} is no dimension", field="dim", allowed="an integer, 16..4096")
        self.dim = dim
        self.digest = f"words-trigrams-{_SCHEME}"

    def __repr__(self) -> str:
        return f"HashEmbedder(dim={self.dim})"

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """See `Embedder.embed`. A text without a letter or digit gets zeros. Queries are treated alike."""
        import numpy as np
        import xxhash

        listed = check_texts(texts)
        sums = np.zeros((len(listed), self.dim))
        for row, text in zip(sums, listed, strict=True):
            for feature, weight in _features(text).items():
                hashed = xxhash.xxh3_64_intdigest(feature.encode("utf-8", "surrogatepass"))
                row[(hashed >> 1) % self.dim] += weight if hashed & 1 else -weight
        return check_vectors(sums, len(listed), self.dim)[0]


def _features(text: str) -> dict[str, float]:
    """Weights of words ("w:...") and of the trigrams of each word with its ends marked ("g:...")."""
    words: Counter[str] = Counter()
    for word in _WORD.findall(unicodedata.normalize("NFKC", text).casefold()):
        if _IDEOGRAPHIC.search(word):  # written without spaces: pairs of characters take the place of words
            words.update(word[at : at + 2] for at in range(max(1, len(word) - 1)))
        else:
            words[word] += 1
    telling = {word: count for word, count in words.items() if word not in STOP_WORDS} or words
    features: dict[str, float] = {}
    grams: Counter[str] = Counter()
    for word, count in telling.items():
        features[f"w:{word}"] = 1.0 + math.log(count)
        marked = f"<{word}>"
        for at in range(len(marked) - 2):
            grams[marked[at : at + 3]] += count
    for gram, count in grams.items():
        features[f"g:{gram}"] = 0.5 * (1.0 + math.log(count))
    return features


# --- long text ----------------------------------------------------------------------------------------------

# Where a text may be cut, best first: after a paragraph, a sentence, a line, a clause, a word.
_BORDERS = tuple(
    re.compile(pattern)
    for pattern in (
        r"\n[ \t\r]*\n\s*",
        r"[.!?…][\"'”’)\]]*\s+|[。！？；…][”’」』）]*\s*",
        r"\n\s*",
        r"[,;:]\s+|[，、：]\s*",
        r"\s+",
    )
)


def split_text(text: str, max_chars: int = PIECE_CHARS) -> list[str]:
    """Cut a long text into pieces an embedder can take, at paragraph or sentence ends where possible.

    The pieces joined are the text: nothing is lost or repeated. Blank text gives [].

    Args:
        text: Any text.
        max_chars: Room in a piece, in Latin letters, at least 16. Characters on which models spend more
            tokens take more room: 2 for Greek to Devanagari, 3 for Thai, Han, Kana, Hangul and emoji. So
            1,000 stays below the 512 tokens that small models read.

    Returns:
        At most 64 pieces. A text that does not fit into so many gets larger pieces rather than more.

    Raises:
        InvalidRequest: `max_chars` below 16.

    >>> split_text("One sentence. Another sentence.", max_chars=20)
    ['One sentence. ', 'Another sentence.']
    """
    if max_chars < _SMALLEST_PIECE:
        raise InvalidRequest(f"{max_chars} is too little", field="max_chars", allowed=f"at least {_SMALLEST_PIECE}")
    if not text.strip():
        return []
    ends = range(1, len(text) + 1) if text.isascii() else list(accumulate(map(_room, text)))
    room = max(max_chars, ends[-1] // MAX_PIECES)
    while len(cuts := _cuts(text, ends, room)) > MAX_PIECES:
        room += room // 8
    return [text[start:end] for start, end in pairwise([0, *cuts])]


def _cuts(text: str, ends: Sequence[int], room: int) -> list[int]:
    """Where each piece ends, the last at the end of the text. All but the last fill half of `room` or more.

    Gives up one past MAX_PIECES. `ends[i]` is the room taken by the text up to and with character i.
    """
    cuts: list[int] = []
    start = used = 0
    while ends[-1] - used > room and len(cuts) <= MAX_PIECES:
        highest = bisect_right(ends, used + room)
        start = _border(text, max(bisect_right(ends, used + room // 2), start + 1), highest)
        used = ends[start - 1]
        cuts.append(start)
    return [*cuts, len(text)]


def _room(character: str) -> int:
    code = ord(character)
    return 1 if code < 0x370 else 2 if code < 0xE00 or 0x2000 <= code < 0x2E80 else 3


def _border(text: str, lowest: int, highest: int) -> int:
    """The last place of the best kind to cut, lowest < place <= highest; `highest` if there is none."""
    for border in _BORDERS:
        places = [match.end() for match in border.finditer(text, lowest, highest)]
        if places:
            return places[-1]
    return highest
