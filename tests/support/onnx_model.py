"""Small ONNX models, written by hand: an embedding table, and as much of the ways around it as tests need.

ONNX is protocol buffers; the few messages of onnx.proto that a graph takes are laid out here by their field numbers,
which are stable, so that no test needs the `onnx` package. `write_model` makes a folder as `OnnxEmbedder` takes it.

    last_hidden_state[b, s, :]  = table[input_ids[b, s]] + 0.25 * table[input_ids[b, s - 1]]     ("context")
                                + the number of tokens attended to in row b                      ("attention")
    sentence_embedding[b, :]    = the mean of last_hidden_state over s, padding included
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

FLOAT, INT64 = 1, 7
WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "is", "a", "boat", "yacht", "dog", "cat", "red", "blue", "##s", "?")
DIM = 8


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, *contents: bytes | str) -> bytes:
    content = b"".join(part.encode() if isinstance(part, str) else part for part in contents)
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _value(name: str, kind: int, axes: Sequence[str | int]) -> bytes:
    """ValueInfoProto."""
    dims = [_bytes(1, _bytes(2, axis) if isinstance(axis, str) else _number(1, axis)) for axis in axes]
    return _bytes(1, name) + _bytes(2, _bytes(1, _number(1, kind), _bytes(2, *dims)))


def _tensor(name: str, array: NDArray[np.float32] | NDArray[np.int64]) -> bytes:
    """TensorProto with raw data."""
    dims = b"".join(_number(1, size) for size in array.shape)
    kind = FLOAT if array.dtype == np.float32 else INT64
    return dims + _number(2, kind) + _bytes(8, name) + _bytes(9, array.tobytes())


def _node(operator: str, inputs: Sequence[str], output: str, attributes: bytes = b"") -> bytes:
    """NodeProto."""
    return b"".join([*(_bytes(1, name) for name in inputs), _bytes(2, output), _bytes(4, operator), attributes])


def _ints(name: str, values: Sequence[int]) -> bytes:
    """AttributeProto of integers, as the field of a node."""
    return _bytes(5, _bytes(1, name), *(_number(8, value) for value in values), _number(20, 7))


def _int(name: str, value: int) -> bytes:
    return _bytes(5, _bytes(1, name), _number(3, value), _number(20, 2))


def table() -> NDArray[np.float32]:
    """What the model looks tokens up in; rows of no particular length."""
    return np.random.default_rng(7).standard_normal((len(WORDS), DIM)).astype(np.float32)


def graph(
    *,
    inputs: Sequence[str] = ("input_ids", "attention_mask"),
    outputs: Sequence[str] = ("last_hidden_state",),
    rows: NDArray[np.float32] | None = None,
    context: bool = True,
    attention: bool = False,
) -> bytes:
    """A ModelProto. `rows`: another table."""
    looked_up = table() if rows is None else rows
    nodes = [_node("Gather", ["table", inputs[0]], "here")]
    if context:
        # Tokens moved by one to the right: padded in front by one 0, the last one cut off.
        nodes += [
            _node("Pad", [inputs[0], "pads"], "longer"),
            _node("Slice", ["longer", "starts", "ends", "axes"], "before"),
            _node("Gather", ["table", "before"], "context"),
            _node("Mul", ["context", "share"], "little"),
            _node("Add", ["here", "little"], "tokens"),
        ]
    else:
        nodes.append(_node("Identity", ["here"], "tokens"))
    if attention:
        nodes += [
            _node("Cast", ["attention_mask"], "attended", _int("to", FLOAT)),
            _node("ReduceSum", ["attended", "axes"], "count"),  # [batch, 1]
            _node("Unsqueeze", ["count", "axes"], "count3"),
            _node("Add", ["tokens", "count3"], "told"),
        ]
    told = "told" if attention else "tokens"
    for name in outputs:
        if name == "sentence_embedding":
            nodes.append(_node("ReduceMean", [told], name, _ints("axes", [1]) + _int("keepdims", 0)))
        else:
            nodes.append(_node("Identity", [told], name))
    constants = {
        "pads": np.array([0, 1, 0, 0], np.int64),
        "starts": np.array([0], np.int64),
        "ends": np.array([-1], np.int64),
        "axes": np.array([1], np.int64),
    }
    initializers = [_tensor("table", looked_up)]
    if context or attention:
        initializers += [_tensor(name, array) for name, array in constants.items()]
        initializers.append(_tensor("share", np.array([0.25], np.float32)))
    shapes = {"sentence_embedding": ("batch", looked_up.shape[1])}
    body = b"".join(
        [
            *(_bytes(1, node) for node in nodes),
            _bytes(2, "tiny"),
            *(_bytes(5, tensor) for tensor in initializers),
            *(_bytes(11, _value(name, INT64, ("batch", "sequence"))) for name in inputs),
            *(
                _bytes(12, _value(name, FLOAT, shapes.get(name, ("batch", "sequence", looked_up.shape[1]))))
                for name in outputs
            ),
        ]
    )
    return _number(1, 8) + _bytes(7, body) + _bytes(8, _bytes(1, ""), _number(2, 13))


def tokenizer(words: Sequence[str] = WORDS) -> str:
    """A word-piece tokenizer over these words, as `tokenizers` writes it. It truncates and pads: to be undone."""
    specials = [
        {
            "id": place, "content": word, "special": True, "single_word": False,
            "lstrip": False, "rstrip": False, "normalized": False,
        }
        for place, word in enumerate(words[:4])
    ]  # fmt: skip
    return json.dumps(
        {
            "version": "1.0",
            "truncation": {"max_length": 4, "strategy": "LongestFirst", "stride": 0},
            "padding": {
                "strategy": {"Fixed": 16}, "direction": "Right", "pad_to_multiple_of": None,
                "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]",
            },
            "added_tokens": specials,
            "normalizer": {"type": "Lowercase"},
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "post_processor": {
                "type": "TemplateProcessing",
                "single": [
                    {"SpecialToken": {"id": "[CLS]", "type_id": 0}},
                    {"Sequence": {"id": "A", "type_id": 0}},
                    {"SpecialToken": {"id": "[SEP]", "type_id": 0}},
                ],
                "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
                "special_tokens": {
                    "[CLS]": {"id": "[CLS]", "ids": [2], "tokens": ["[CLS]"]},
                    "[SEP]": {"id": "[SEP]", "ids": [3], "tokens": ["[SEP]"]},
                },
            },
            "decoder": None,
            "model": {
                "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                "max_input_chars_per_word": 100, "vocab": {word: place for place, word in enumerate(words)},
            },
        }
    )  # fmt: skip


def write_model(folder: Path, model: bytes | None = None, words: Sequence[str] = WORDS) -> Path:
    """A folder with `model.onnx` and `tokenizer.json`; returns it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(graph() if model is None else model)
    (folder / "tokenizer.json").write_text(tokenizer(words), encoding="utf-8")
    return folder
