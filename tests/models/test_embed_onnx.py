"""OnnxEmbedder on small models that a real onnxruntime runs: what it computes, what it refuses, and when."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memhop import ConfigError, EmbedderError, InvalidRequest, OnnxEmbedder
from memhop.models import embed_onnx
from tests.support.memories import memory, texts
from tests.support.onnx_model import DIM, WORDS, graph, table, write_model

pytest.importorskip("onnxruntime", reason="the extra `onnx` is not installed")

MINILM = os.environ.get("MEMHOP_MODELS", "")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_model(tmp_path / "model")


def hidden(*words: str) -> Any:
    """What the graph gives for these words between [CLS] and [SEP], by hand."""
    ids = [WORDS.index(word) for word in ("[CLS]", *words, "[SEP]")]
    rows = table()[ids]
    return rows + 0.25 * table()[[0, *ids[:-1]]]


def unit(row: Any) -> Any:
    return row / np.linalg.norm(row)


class TestVectors:
    def test_a_text_is_the_mean_of_all_its_tokens(self, folder: Path) -> None:
        rows = OnnxEmbedder(folder).embed(["The red boat", "dog"])
        assert rows.dtype == np.float32
        assert np.allclose(rows[0], unit(hidden("the", "red", "boat").mean(axis=0)), atol=1e-5)
        assert np.allclose(rows[1], unit(hidden("dog").mean(axis=0)), atol=1e-5)

    def test_padding_and_order_change_nothing(self, folder: Path) -> None:
        """Texts of different length share a pass; the shorter ones are padded, and the padding is not part of them."""
        embedder = OnnxEmbedder(folder)
        long = " ".join(["red boat dog cat"] * 40)
        many = ["dog", long, "a cat", "the red boat is blue", long[:60], "yacht"] * 7
        alone = [embedder.embed([text])[0] for text in many]
        assert np.allclose(embedder.embed(many), alone, atol=1e-5)

    def test_padding_is_not_attended_to(self, tmp_path: Path) -> None:
        folder = write_model(tmp_path / "model", graph(attention=True))
        rows = OnnxEmbedder(folder).embed(["red boat", "dog"])
        assert np.allclose(rows[0], unit(hidden("red", "boat").mean(axis=0) + 4), atol=1e-5)
        assert np.allclose(rows[1], unit(hidden("dog").mean(axis=0) + 3), atol=1e-5)

    def test_the_first_token_stands_for_the_text_where_the_folder_says_so(self, folder: Path) -> None:
        pooling = folder / "1_Pooling" / "config.json"
        pooling.parent.mkdir()
        pooling.write_text(json.dumps({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}))
        rows = OnnxEmbedder(folder).embed(["red boat"])
        assert np.allclose(rows[0], unit(hidden("red", "boat")[0]), atol=1e-5)
        pooling.write_text(json.dumps({"pooling_mode_max_tokens": True}))
        with pytest.raises(ConfigError, match="pool"):
            OnnxEmbedder(folder)

    def test_tokens_have_other_vectors_in_other_places(self, folder: Path) -> None:
        pooled, (first, second) = OnnxEmbedder(folder).embed_tokens(["red boat", "the blue boats?"])
        words = [WORDS[id_] for id_ in first.ids.tolist()]
        assert words == ["red", "boat"]
        assert np.allclose(first.vectors[1], unit(hidden("red", "boat")[2]), atol=1e-5)
        assert [WORDS[id_] for id_ in second.ids.tolist()] == ["blue", "boat", "##s"], "no `the`, and no question mark"
        assert not np.allclose(first.vectors[1], second.vectors[1], atol=0.01)
        assert first.ids.dtype == np.uint16
        assert np.allclose(pooled, OnnxEmbedder(folder).embed(["red boat", "the blue boats?"]))

    def test_a_sentence_embedding_of_the_graph_comes_first(self, tmp_path: Path) -> None:
        both = write_model(tmp_path / "both", graph(outputs=("token_embeddings", "sentence_embedding")))
        pooled, (tokens,) = OnnxEmbedder(both).embed_tokens(["red boat"])
        assert np.allclose(pooled[0], unit(hidden("red", "boat").mean(axis=0)), atol=1e-5)
        assert len(tokens.ids) == 2
        alone = write_model(tmp_path / "alone", graph(outputs=("sentence_embedding",)))
        pooled, (tokens,) = OnnxEmbedder(alone).embed_tokens(["red boat"])
        assert len(tokens.ids) == 0
        assert tokens.vectors.shape == (0, DIM)
        assert OnnxEmbedder(alone).embed([]).shape == (0, 0)

    def test_blank_texts_have_no_vector(self, folder: Path) -> None:
        embedder = OnnxEmbedder(folder)
        assert embedder.embed([]).shape == (0, 0)
        rows, tokens = embedder.embed_tokens(["", " \n", "dog", "\ud800 boat"])
        assert [bool(row.any()) for row in rows] == [False, False, True, True]
        assert [len(one.ids) for one in tokens][:3] == [0, 0, 1]
        assert embedder.dim == DIM
        with pytest.raises(InvalidRequest):
            embedder.embed("dog")

    def test_long_texts_are_cut_at_the_models_longest(self, folder: Path) -> None:
        (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 10}))
        embedder = OnnxEmbedder(folder)
        assert embedder.max_tokens == 10
        (tokens,) = embedder.embed_tokens(["boat " * 1_000])[1]
        assert len(tokens.ids) == 8
        assert OnnxEmbedder(folder, max_tokens=12).max_tokens == 12
        (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 10**30}))
        assert OnnxEmbedder(folder).max_tokens == embed_onnx.MAX_TOKENS

    def test_numbers_that_are_none_spoil_their_own_text_alone(self, tmp_path: Path) -> None:
        rows = table()
        rows[WORDS.index("dog")] = np.nan
        rows[WORDS.index("cat")] = np.inf
        folder = write_model(tmp_path / "nan", graph(rows=rows, context=False))
        pooled, tokens = OnnxEmbedder(folder).embed_tokens(["red dog", "red cat", "red boat"])
        assert [bool(row.any()) for row in pooled] == [False, False, True]
        assert [[WORDS[id_] for id_ in one.ids.tolist()] for one in tokens[:2]] == [["red"], ["red"]]
        assert np.isfinite(np.concatenate([one.vectors for one in tokens])).all()

    def test_threads_agree(self, folder: Path) -> None:
        embedder = OnnxEmbedder(folder, threads=2)
        many = ["red boat", "the blue dog is a cat", "yacht"] * 20
        found: list[Any] = [None] * 6

        def run(place: int) -> None:
            found[place] = embedder.embed(many)

        threads = [threading.Thread(target=run, args=(place,)) for place in range(len(found))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert all(np.array_equal(found[0], rows) for rows in found)


class TestIdentity:
    def test_a_model_is_known_by_its_content(self, folder: Path, tmp_path: Path) -> None:
        known = OnnxEmbedder(folder)
        moved = OnnxEmbedder(write_model(tmp_path / "elsewhere" / "copy"))
        assert (known.name, known.digest) == (moved.name, moved.digest) == ("onnx", known.digest)
        assert OnnxEmbedder(folder, max_tokens=20).digest != known.digest
        assert OnnxEmbedder(folder, threads=2).digest == known.digest
        rows = table()
        rows[5] *= -1
        assert OnnxEmbedder(write_model(tmp_path / "a", graph(rows=rows))).digest != known.digest
        assert OnnxEmbedder(write_model(tmp_path / "b", words=[*WORDS[:-1], "!"])).digest != known.digest

    def test_a_file_that_was_replaced_is_another_model(self, folder: Path) -> None:
        before = OnnxEmbedder(folder).digest
        rows = table()
        rows[5] *= -1
        (folder / "model.onnx").write_bytes(graph(rows=rows))
        assert OnnxEmbedder(folder).digest != before

    def test_it_is_called_as_its_config_says(self, folder: Path) -> None:
        (folder / "config.json").write_text(json.dumps({"_name_or_path": "somebody/tiny-boats"}))
        assert OnnxEmbedder(folder).name == "tiny-boats"

    def test_nothing_heavy_is_imported_before_the_first_use(self, folder: Path) -> None:
        code = (
            "import sys, memhop\n"
            f"embedder = memhop.OnnxEmbedder({str(folder)!r})\n"
            "heavy = {'onnxruntime', 'tokenizers', 'numpy'}\n"
            "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
            "embedder.embed(['boat'])\n"
            "assert heavy <= set(sys.modules)\n"
        )
        done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")


FOLDERS: dict[str, Callable[[Path], object]] = {
    "no model": lambda folder: (folder / "model.onnx").unlink(),
    "no tokenizer": lambda folder: (folder / "tokenizer.json").unlink(),
    "a config that is no JSON": lambda folder: (folder / "config.json").write_text("{"),
    "a config that is a list": lambda folder: (folder / "config.json").write_text("[]"),
    "a config without an end": lambda folder: (folder / "config.json").write_text("[" * 100_000),
}
FILES: dict[str, Callable[[Path], object]] = {
    "an empty model": lambda folder: (folder / "model.onnx").write_bytes(b""),
    "half a model": lambda folder: (folder / "model.onnx").write_bytes(graph()[:300]),
    "a model that is text": lambda folder: (folder / "model.onnx").write_text("404 not found"),
    "an empty tokenizer": lambda folder: (folder / "tokenizer.json").write_text(""),
    "a tokenizer that is another JSON": lambda folder: (folder / "tokenizer.json").write_text("{}"),
    "other inputs": lambda folder: (folder / "model.onnx").write_bytes(graph(inputs=("input_ids", "pixels"))),
    "no text": lambda folder: (folder / "model.onnx").write_bytes(graph(inputs=("attention_mask",))),
    "other outputs": lambda folder: (folder / "model.onnx").write_bytes(graph(outputs=("logits",))),
    "fewer rows than tokens": lambda folder: (folder / "model.onnx").write_bytes(graph(rows=table()[:6])),
}


class TestFaults:
    @pytest.mark.parametrize("name", FOLDERS)
    def test_what_is_missing_shows_at_once(self, folder: Path, name: str) -> None:
        FOLDERS[name](folder)
        with pytest.raises(ConfigError) as caught:
            OnnxEmbedder(folder)
        assert str(folder) in caught.value.message

    @pytest.mark.parametrize("name", FILES)
    def test_what_is_damaged_shows_at_the_first_use(self, folder: Path, name: str) -> None:
        FILES[name](folder)
        embedder = OnnxEmbedder(folder)
        for _ in range(2):
            with pytest.raises(EmbedderError) as caught:
                embedder.embed(["the blue boats?"])
            assert not caught.value.retryable
        with memory(folder / "a.meh", embedder=embedder) as db:
            db.remember("the blue boat")
            assert db.backfill().embedded == 0
            assert texts(db.recall("blue")) == ["the blue boat"]

    @pytest.mark.parametrize(
        "arguments", [{"threads": 0}, {"threads": 65}, {"max_tokens": 7}, {"max_tokens": 513}, {"threads": "2"}]
    )
    def test_arguments_out_of_range(self, folder: Path, arguments: dict[str, Any]) -> None:
        with pytest.raises(InvalidRequest):
            OnnxEmbedder(folder, **arguments)


def test_a_memory_finds_by_it(tmp_path: Path, folder: Path) -> None:
    """Paraphrases found by a table in which "yacht" lies near "boat"."""
    rows = table()
    rows[WORDS.index("boat")] *= 4
    rows[WORDS.index("yacht")] = rows[WORDS.index("boat")] + 0.01
    write_model(folder, graph(rows=rows))
    with memory(tmp_path / "a.meh", embedder=OnnxEmbedder(folder)) as db:
        db.remember_many(["a red boat", "a blue dog", "the cat is red", "a dog is a dog"])
        assert db.backfill().remaining == 0
        found = db.recall("yacht")
        assert found.hits[0].text == "a red boat"
        ran = {use.name for use in found.channels if use.ran}
        assert {"pooled", "late"} <= ran
        db.checkpoint()
        assert db.verify(deep=True).ok


@pytest.mark.skipif(
    not (Path(MINILM) / "minilm").is_dir(), reason="$MEMHOP_MODELS has no minilm (memhop models install)"
)
def test_the_installed_model_knows_what_words_mean() -> None:
    embedder = OnnxEmbedder(Path(MINILM) / "minilm")
    one, alike, other = embedder.embed(["I bought a car", "she purchased an automobile", "the soup is too salty"])
    assert float(one @ alike) > 0.6 > 0.3 > float(one @ other)
    assert embedder.dim == 384
