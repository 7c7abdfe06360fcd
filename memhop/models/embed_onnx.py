"""An embedder in this process: a transformer as an ONNX file, run by `onnxruntime`, with its `tokenizers` file.

A folder in the usual layout is all it takes:

    model.onnx                  takes input_ids and attention_mask (and token_type_ids), gives last_hidden_state (or
                                token_embeddings) [texts, tokens, dim] or sentence_embedding [texts, dim], or both
    tokenizer.json
    config.json, tokenizer_config.json, sentence_bert_config.json, 1_Pooling/config.json      optional: longest text,
                                and how a text's vector is made of its tokens

With `last_hidden_state` one pass gives a vector for the text and one for each of its tokens *where it stands*, which
is what late interaction compares: see `ContextualEmbedder`. Nothing in the folder is executed but the graph.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from memhop.common.config import check_int
from memhop.common.errors import ConfigError, EmbedderError
from memhop.models.embed import TokenVectors, check_texts, check_vectors, means_nothing
from memhop.models.http import need
from memhop.models.literacy import pieces_of, scripts_known, share_read

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MODEL = "model.onnx"
TOKENIZER = "tokenizer.json"
MAX_TOKENS = 512  # of one text, whatever the model could read: time goes with the square
_SCHEME = 1  # raised whenever a text would get other vectors
_RUN_TOKENS = 512  # padded tokens of one pass; larger passes cost more per text, because they leave the caches
_LONGEST_CONFIG = 1024 * 1024
_INPUTS = frozenset({"input_ids", "attention_mask", "token_type_ids"})
_HIDDEN = ("last_hidden_state", "token_embeddings")  # two names for [texts, tokens, dim]
_POOLED = "sentence_embedding"
_POOLING = {"pooling_mode_cls_token": "cls", "pooling_mode_mean_tokens": "mean"}


class _Model(NamedTuple):
    session: Any
    tokenizer: Any
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]  # one of _HIDDEN, or _POOLED, or both
    vocabulary: int


class _Passed(NamedTuple):
    """What one text came out of the model with."""

    pooled: NDArray[np.float32]  # [dim]
    tokens: NDArray[np.float32]  # [tokens, dim], also of special tokens; empty without last_hidden_state


class OnnxEmbedder:
    """A model out of a folder, offline; a `ContextualEmbedder`.

    Constructing reads the files once to know them by their content (12 ms per 23 MB); `onnxruntime` and the model are
    loaded by the first use. The name is what config.json calls the model, so that a folder may be moved or renamed.
    Texts and questions are treated alike. Longer texts are cut at the model's longest.

    Args:
        folder: See above.
        threads: How many the model may use within one pass, 1..64. With 1 it starts none.
        max_tokens: Longest text in tokens, 8..512. None: what the model's files say, at most 512.

    Raises:
        ConfigError: a package of the extra `onnx` or a file is missing, or a JSON file is damaged. A damaged model
            or one of another kind shows at the first use, as EmbedderError.
        InvalidRequest: an argument out of range.
    """

    max_batch = 64

    def __init__(self, folder: Path | str, *, threads: int = 1, max_tokens: int | None = None) -> None:
        need("onnxruntime", "onnx")
        need("tokenizers", "onnx")
        self.folder = Path(folder)
        self._threads = check_int(threads, field="threads", low=1, high=64)
        if max_tokens is not None:
            check_int(max_tokens, field="max_tokens", low=8, high=MAX_TOKENS)
        settings = _Settings.read(self.folder)
        self.max_tokens = max_tokens or settings.max_tokens
        self._pooling = settings.pooling
        self.name = settings.name
        self.dim: int | None = None  # known after the first use
        state = hashlib.sha256(f"{_SCHEME} {self.max_tokens} {self._pooling}".encode())
        for name in (MODEL, TOKENIZER):
            state.update(_digest_of(self.folder / name))
        self.digest = state.hexdigest()[:32]
        self._lock = threading.Lock()
        self._loaded: _Model | None = None

    def __repr__(self) -> str:
        return f"OnnxEmbedder({str(self.folder)!r})"

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """See `Embedder.embed`. About 6 ms of CPU for a sentence with a model of 22 million parameters."""
        return self._unit([passed.pooled for _, passed in self._pass(check_texts(texts))])

    def embed_tokens(
        self, texts: Sequence[str], *, query: bool = False
    ) -> tuple[NDArray[np.float32], list[TokenVectors]]:
        """See `ContextualEmbedder.embed_tokens`. Costs what `embed` costs. No tokens without `last_hidden_state`."""
        import numpy as np

        listed = check_texts(texts)
        pooled: list[NDArray[np.float32]] = []
        tokens: list[TokenVectors] = []
        width = np.uint16 if self._model().vocabulary <= 1 << 16 else np.uint32
        for text, (encoding, passed) in zip(listed, self._pass(listed), strict=True):
            pooled.append(passed.pooled)
            telling = _telling(encoding, text) if len(passed.tokens) else []
            ids: NDArray[Any] = np.array(encoding.ids, dtype=width)[telling]
            if not len(ids):
                tokens.append(TokenVectors(ids, np.zeros((0, len(passed.pooled)), np.float32)))
                continue
            vectors, good = check_vectors(passed.tokens[telling], len(telling), passed.tokens.shape[1])
            tokens.append(TokenVectors(ids[good], vectors[good]))
        return self._unit(pooled), tokens

    def reads(self, text: str) -> float:
        """See `ReadingEmbedder.reads`: the share of letters in scripts that the tokenizer has words of."""
        return share_read(text, self._scripts)

    @cached_property
    def _scripts(self) -> frozenset[str]:
        return scripts_known(pieces_of(self._model().tokenizer))

    def _unit(self, rows: list[NDArray[np.float32]]) -> NDArray[np.float32]:
        import numpy as np

        if not rows:
            return np.zeros((0, self.dim or 0), dtype=np.float32)
        return check_vectors(np.stack(rows), len(rows), self.dim)[0]

    def _pass(self, texts: list[str]) -> Iterator[tuple[Any, _Passed]]:
        """Each text's encoding and what the model says, in order."""
        import numpy as np

        model = self._model()
        # One at a time: encode_batch starts threads, which do not survive a fork of the host.
        encodings = [model.tokenizer.encode(text.encode("utf-8", "replace").decode("utf-8")) for text in texts]
        found: list[_Passed | None] = [None] * len(texts)
        lengths = [len(encoding.ids) for encoding in encodings]
        blank = [not text.strip() or not length for text, length in zip(texts, lengths, strict=True)]
        for batch in _batches(lengths):
            spoken = [row for row in batch if not blank[row]]
            for row, passed in zip(spoken, self._run(model, [encodings[row] for row in spoken]), strict=True):
                found[row] = passed
        nothing = np.zeros((0, self.dim or 0), dtype=np.float32)
        for encoding, passed_or_none in zip(encodings, found, strict=True):
            if passed_or_none is not None:
                yield encoding, passed_or_none
            else:
                yield encoding, _Passed(np.zeros(self.dim or 0, dtype=np.float32), nothing)

    def _run(self, model: _Model, encodings: list[Any]) -> list[_Passed]:
        import numpy as np

        if not encodings:
            return []
        longest = max(len(encoding.ids) for encoding in encodings)
        ids = np.zeros((len(encodings), longest), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, encoding in enumerate(encodings):
            ids[row, : len(encoding.ids)] = encoding.ids
            mask[row, : len(encoding.ids)] = 1
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        try:
            answers = model.session.run(list(model.outputs), {name: feed[name] for name in model.inputs})
        except Exception as error:  # the library has a class of its own for each status
            raise EmbedderError(f"{self.folder / MODEL} failed: {error!s:.200}", retryable=False) from error
        outputs = dict(zip(model.outputs, answers, strict=True))
        return [self._taken(outputs, row, len(encoding.ids), ids.shape) for row, encoding in enumerate(encodings)]

    def _taken(self, outputs: dict[str, Any], row: int, length: int, shape: tuple[int, ...]) -> _Passed:
        import numpy as np

        for name, answer in outputs.items():
            axes = 1 if name == _POOLED else 2
            if answer.shape[:axes] != shape[:axes]:
                raise EmbedderError(f"{self.folder / MODEL} gave {answer.shape} for {shape}", retryable=False)
        tokens = next((answer[row, :length] for name, answer in outputs.items() if name != _POOLED), None)
        if _POOLED in outputs:
            vector = outputs[_POOLED][row]
            if tokens is not None and tokens.shape[1] != len(vector):
                tokens = None  # projected after pooling: of another space
        else:
            assert tokens is not None
            with np.errstate(all="ignore"):
                vector = tokens[0] if self._pooling == "cls" else tokens.mean(axis=0, dtype=np.float32)
        if tokens is None:
            tokens = np.zeros((0, len(vector)), dtype=np.float32)
        if self.dim is None:
            self.dim = len(vector)
        return _Passed(vector, tokens)

    def _model(self) -> _Model:
        with self._lock:
            if self._loaded is None:
                self._loaded = _load(self.folder, self._threads, self.max_tokens)
            return self._loaded


class _Settings(NamedTuple):
    name: str
    max_tokens: int
    pooling: str

    @classmethod
    def read(cls, folder: Path) -> _Settings:
        """What the optional files say. Raises ConfigError: a file cannot be read, or is no JSON object."""
        config = _json(folder / "config.json")
        stated = (
            _json(folder / "sentence_bert_config.json").get("max_seq_length"),
            _json(folder / "tokenizer_config.json").get("model_max_length"),
            config.get("max_position_embeddings"),
        )
        lengths = [value for value in stated if isinstance(value, int) and value >= 8]
        pooling = _json(folder / "1_Pooling" / "config.json")
        modes = [mode for key, mode in _POOLING.items() if pooling.get(key) is True]
        if pooling and len(modes) != 1:
            raise ConfigError(f"{folder}: of the ways to pool only the mean and the first token are known")
        called = config.get("_name_or_path")
        name = called.rstrip("/").rpartition("/")[2] if isinstance(called, str) else ""
        return cls(name[:100] or "onnx", min([*lengths, MAX_TOKENS]), modes[0] if modes else "mean")


def _json(file: Path) -> dict[str, Any]:
    """A JSON object, {} where there is no such file."""
    try:
        with file.open("rb") as stream:
            content = json.loads(stream.read(_LONGEST_CONFIG))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"{file} cannot be read: {error!s:.200}") from error
    if not isinstance(content, dict):
        raise ConfigError(f"{file} is no JSON object")
    return content


def _digest_of(file: Path) -> bytes:
    try:
        stat = file.stat()
    except OSError as error:
        hint = "a folder with model.onnx and tokenizer.json; `memhop models install minilm` makes one"
        raise ConfigError(f"{file}: {error.strerror}", hint=hint) from error
    return _digest_of_version(file.resolve(), stat.st_size, stat.st_mtime_ns, stat.st_ino)


@lru_cache(maxsize=32)
def _digest_of_version(file: Path, *_version: int) -> bytes:
    """SHA-256 of a file's content, read once per process as long as the file is not written to."""
    try:
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").digest()
    except OSError as error:
        raise ConfigError(f"cannot read {file}: {error.strerror}") from error


def _load(folder: Path, threads: int, max_tokens: int) -> _Model:
    """Both files. Raises EmbedderError: by now somebody is using the embedder."""
    import onnxruntime
    from tokenizers import Tokenizer

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(str(folder / MODEL), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise EmbedderError(f"{folder / MODEL} cannot be loaded: {error!s:.200}", retryable=False) from error
    inputs = {given.name for given in session.get_inputs()}
    outputs = {given.name: len(given.shape) for given in session.get_outputs()}
    hidden = [name for name in _HIDDEN if outputs.get(name) == 3]
    usable = (*hidden[:1], *([_POOLED] if outputs.get(_POOLED) == 2 else ()))
    if "input_ids" not in inputs or not inputs <= _INPUTS or not usable:
        raise EmbedderError(
            f"{folder / MODEL} takes {', '.join(sorted(inputs))} and gives {', '.join(sorted(outputs))}; wanted is a "
            "graph from input_ids and attention_mask to last_hidden_state or sentence_embedding",
            retryable=False,
        )
    try:
        tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
    except Exception as error:  # the library raises Exception itself
        raise EmbedderError(f"{folder / TOKENIZER} is damaged: {error!s:.200}", retryable=False) from error
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_tokens)
    vocabulary = max(tokenizer.get_vocab(with_added_tokens=True).values(), default=0) + 1
    return _Model(session, tokenizer, tuple(sorted(inputs)), usable, vocabulary)


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Rows in passes: of similar length, so that little is padded."""
    batch: list[int] = []
    for row in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[row] > _RUN_TOKENS:
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


def _telling(encoding: Any, text: str) -> list[int]:
    """The places of tokens that belong to a word with a meaning of its own."""
    places: list[int] = []
    word: list[int] = []
    current: object = None
    offsets = encoding.offsets
    rows = zip(encoding.word_ids, encoding.special_tokens_mask, strict=True)
    for place, (number, special) in enumerate([*rows, (None, 1)]):
        if word and (special or number != current):
            surface = text[offsets[word[0]][0] : offsets[word[-1]][1]]
            if not means_nothing(surface.strip().casefold()):
                places += word
            word = []
        current = number
        if not special:
            word.append(place)
    return places
