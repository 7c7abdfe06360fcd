"""An embedder without a network: static token vectors (256 numbers) which the `wordllama` wheel carries.

The package itself is never imported, because importing it loads a download client and its search for its own
files looks into the wrong folder. Its two data files are read instead: `weights/*.safetensors` and
`tokenizers/*.json`. A text is the mean of its token vectors, so word order is lost; what the model knows is which
words are used alike. Compared token by token (`tokens`, `table`, `stop_tokens`) it finds much more.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from memhop.common.errors import ConfigError, EmbedderError
from memhop.models.embed import check_texts, check_vectors, means_nothing
from memhop.models.http import need
from memhop.models.literacy import pieces_of, scripts_known, share_read

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_WEIGHTS = "weights/l2_supercat_256.safetensors"
_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
_TENSOR = "embedding.weight"
_ITEM_BYTES = {"F16": 2, "F32": 4}
_LONGEST_HEADER = 1024 * 1024
_BLOCK = 2_048
_REINSTALL = "reinstall with: pip install --force-reinstall wordllama"
_MIB = 1024 * 1024
_MANY_TOKENS = 4_096  # above, repeated tokens are counted instead of gathered, to bound the memory of one text
_WORD_START = "▁"  # how the tokenizer writes the space before a word


class _Model(NamedTuple):
    rows: NDArray[Any]  # [vocabulary, dim], float16 or float32 as stored
    tokenizer: Any


class LocalEmbedder:
    """wordllama's "l2_supercat" vectors, read from the installed wheel. Never touches the network.

    Constructing reads 4 MiB of the files; the first use loads them (about 0.2 s of CPU, 20 MB), `table` adds
    32 MB. Then about 0.1 ms per sentence, single-threaded. A text without tokens gets a row of zeros.

    Args:
        directory: A folder with the wheel's `weights` and `tokenizers`. None: where `wordllama` is installed.

    Raises:
        ConfigError: a package of the extra `local` is missing, or a file is missing, damaged, or of another
            shape than its own header says. Damage further inside shows at first use, as EmbedderError.
    """

    max_batch = 256
    name = "wordllama-l2_supercat_256"

    def __init__(self, directory: Path | None = None) -> None:
        need("safetensors", "local")
        need("tokenizers", "local")
        folder = _installed() if directory is None else directory
        self._weights = folder / _WEIGHTS
        self._tokenizer_file = folder / _TOKENIZER
        self.digest = _digest(self._weights, self._tokenizer_file)
        shape = _shape(self._weights)
        self.vocabulary: int = shape[0]
        self.dim: int = shape[1]
        self._lock = threading.Lock()
        self._loaded: _Model | None = None

    def __repr__(self) -> str:
        return f"LocalEmbedder(dim={self.dim}, vocabulary={self.vocabulary})"

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """See `Embedder.embed`: the mean of the token vectors, scaled to unit length. Queries are treated alike."""
        import numpy as np

        rows = self._model().rows
        ids = self.tokens(texts)
        means = np.zeros((len(ids), self.dim))
        for mean, text_ids in zip(means, ids, strict=True):
            if text_ids.size > _MANY_TOKENS:
                distinct, counts = np.unique(text_ids, return_counts=True)
                mean[:] = counts @ rows[distinct].astype(np.float32) / text_ids.size
            elif text_ids.size:
                mean[:] = rows[text_ids].mean(axis=0, dtype=np.float32)
        return check_vectors(means, len(ids), self.dim)[0]

    def tokens(self, texts: Sequence[str]) -> list[NDArray[np.uint16] | NDArray[np.uint32]]:
        """See `TokenEmbedder.tokens`. About 0.5 us a character."""
        import numpy as np

        small = self.vocabulary <= 1 << 16
        tokenizer = self._model().tokenizer
        arrays: list[NDArray[np.uint16] | NDArray[np.uint32]] = []
        for text in check_texts(texts):
            # One at a time: encode_batch starts threads, which do not survive a fork of the host.
            clean = text.encode("utf-8", "replace").decode("utf-8")
            ids = tokenizer.encode(clean, add_special_tokens=False).ids if text.strip() else []
            arrays.append(np.array(ids, dtype=np.uint16) if small else np.array(ids, dtype=np.uint32))
        return arrays

    def reads(self, text: str) -> float:
        """See `ReadingEmbedder.reads`: the share of letters in Latin or Cyrillic script."""
        return share_read(text, self._scripts)

    def table(self) -> NDArray[np.float32]:
        """See `TokenEmbedder.table`. Made at the first call and kept: 32 MB."""
        return self._table

    def stop_tokens(self) -> NDArray[np.bool_]:
        """See `TokenEmbedder.stop_tokens`: special and byte tokens, tokens without letter or digit, single
        letters, what is left of contractions, and function words where they begin a word.
        """
        return self._stop_tokens

    @cached_property
    def _scripts(self) -> frozenset[str]:
        return scripts_known(pieces_of(self._model().tokenizer))

    @cached_property
    def _table(self) -> NDArray[np.float32]:
        import numpy as np

        rows = self._model().rows
        unit = np.empty(rows.shape, dtype=np.float32)
        for start in range(0, len(rows), _BLOCK):  # the check works in float64; all at once would take 250 MB
            part = rows[start : start + _BLOCK]
            unit[start : start + _BLOCK] = check_vectors(part, len(part), self.dim)[0]
        unit.setflags(write=False)
        return unit

    @cached_property
    def _stop_tokens(self) -> NDArray[np.bool_]:
        import numpy as np

        tokenizer = self._model().tokenizer
        stops = np.zeros(self.vocabulary, dtype=np.bool_)
        special = {token.content for token in tokenizer.get_added_tokens_decoder().values() if token.special}
        for token, id_ in tokenizer.get_vocab(with_added_tokens=True).items():
            stops[id_] = token in special or _means_nothing(token)
        stops.setflags(write=False)
        return stops

    def _model(self) -> _Model:
        with self._lock:
            if self._loaded is None:
                self._loaded = _load(self._weights, self._tokenizer_file, (self.vocabulary, self.dim))
            return self._loaded


def _installed() -> Path:
    need("wordllama", "local")
    spec = find_spec("wordllama")
    places = spec.submodule_search_locations if spec is not None else None
    if not places:
        raise ConfigError("wordllama is installed without its files", hint="pip install 'memhop[local]'")
    return Path(places[0])


def _digest(*files: Path) -> str:
    """SHA-256 over size, first and last MiB of each file: tells models apart, does not guard against forgery."""
    state = hashlib.sha256(b"mean of token vectors, 1")
    for file in files:
        try:
            with file.open("rb") as stream:
                size = stream.seek(0, 2)
                state.update(size.to_bytes(8, "little"))
                for start in (0, max(0, size - _MIB)):
                    stream.seek(start)
                    state.update(stream.read(_MIB))
        except OSError as error:
            raise ConfigError(f"cannot read {file}: {error.strerror}", hint=_REINSTALL) from error
    return state.hexdigest()[:32]


def _shape(weights: Path) -> tuple[int, int]:
    """Rows and columns, from the header alone: u64 length, JSON of {tensor: dtype, shape, data_offsets}, data.

    Read here rather than by `safetensors`, which would import numpy while the embedder is only being set up.
    """
    try:
        with weights.open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            header = json.loads(stream.read(length)) if length <= _LONGEST_HEADER else {}
            data_bytes = stream.seek(0, 2) - 8 - length
        tensor = header[_TENSOR]
        rows, columns = tensor["shape"]
        start, end = tensor["data_offsets"]
        item_bytes = _ITEM_BYTES[tensor["dtype"]]
        plausible = min(rows, columns) >= 1 and 0 <= start < end <= data_bytes
        if not plausible or end - start != rows * columns * item_bytes:
            raise ValueError("its header does not fit its size")
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise ConfigError(f"{weights} is damaged: {error}", hint=_REINSTALL) from error
    return rows, columns


def _load(weights: Path, tokenizer_file: Path, shape: tuple[int, int]) -> _Model:
    """Both files, checked against each other. Raises EmbedderError: by now somebody is using the embedder."""
    import numpy as np
    from safetensors import SafetensorError, safe_open
    from tokenizers import Tokenizer

    try:
        with safe_open(str(weights), framework="numpy") as file:
            rows = file.get_tensor(_TENSOR)
    except (SafetensorError, OSError) as error:
        raise EmbedderError(f"{weights} is damaged: {error}", hint=_REINSTALL) from error
    if rows.shape != shape or not np.isfinite(rows).all():
        raise EmbedderError(f"{weights} holds numbers that are not finite, or was replaced", hint=_REINSTALL)
    try:
        tokenizer = Tokenizer.from_file(str(tokenizer_file))
    except Exception as error:  # the library raises Exception itself
        raise EmbedderError(f"{tokenizer_file} is damaged: {error}", hint=_REINSTALL) from error
    if max(tokenizer.get_vocab(with_added_tokens=True).values(), default=-1) >= shape[0]:
        raise EmbedderError(f"{tokenizer_file} has more tokens than {weights} has rows", hint=_REINSTALL)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return _Model(rows, tokenizer)


def _means_nothing(token: str) -> bool:
    if token.startswith("<0x") and token.endswith(">"):  # one byte of a character the vocabulary does not have
        return True
    surface = token.replace(_WORD_START, "").casefold()
    # Without the space before it, "the" is a part of "mother"; Chinese is written without spaces.
    return means_nothing(surface, whole=token.startswith(_WORD_START) or not surface.isascii())
