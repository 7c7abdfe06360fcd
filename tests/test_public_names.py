"""The public face is what `memhop.__all__` says, and every part of it says what it does."""

from __future__ import annotations

import dataclasses
import inspect
import subprocess
import sys
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

import pytest

import memhop
from memhop import api
from memhop.api import backups, db, dreaming, rotation
from memhop.api import results as results_package
from memhop.api.namespace import Namespace
from memhop.api.results import base
from memhop.common import errors


def _classes(module: ModuleType) -> list[type]:
    return [
        member
        for name, member in vars(module).items()
        if inspect.isclass(member) and member.__module__ == module.__name__ and not name.startswith("_")
    ]


def _all(package: ModuleType, parent: type) -> list[type]:
    """The classes of a kind in all modules of a package, by name."""
    modules = [import_module(f"{package.__name__}.{found.name}") for found in iter_modules(package.__path__)]
    found = {cls for module in modules for cls in _classes(module) if issubclass(cls, parent)}
    return sorted(found, key=lambda cls: cls.__name__)


NAMESPACES = _all(api, Namespace)
RESULTS = _all(results_package, base.Result)
CLASSES = [
    db.DB,
    *_classes(backups),
    *_classes(rotation),
    *_classes(dreaming),
    *NAMESPACES,
    *RESULTS,
    *_classes(errors),
]


def test_every_result_is_offered_in_one_place() -> None:
    assert {cls.__name__ for cls in RESULTS} == set(results_package.__all__)


def test_all_has_no_repeats() -> None:
    assert len(memhop.__all__) == len(set(memhop.__all__))


@pytest.mark.parametrize("name", memhop.__all__)
def test_every_public_name_resolves(name: str) -> None:
    assert getattr(memhop, name) is not None


def test_all_names_what_the_module_offers() -> None:
    """Names in the namespace which are neither listed nor private would be public by accident."""
    code = "import memhop; print(*[name for name in vars(memhop) if not name.startswith('_')])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = {"annotations", "TYPE_CHECKING", "common"}
    assert set(shown.stdout.split()) - modules <= set(memhop.__all__)


def test_every_error_is_public() -> None:
    assert {error.__name__ for error in _classes(errors)} <= set(memhop.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        memhop.no_such_name  # noqa: B018


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_classes_and_public_methods_have_docstrings(cls: type) -> None:
    assert cls.__doc__
    if dataclasses.is_dataclass(cls):
        assert not cls.__doc__.startswith(f"{cls.__name__}("), "that is the generated one"
    for name, member in vars(cls).items():
        if name.startswith("_"):
            continue
        function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
        if inspect.isfunction(function):
            assert function.__doc__, f"{cls.__name__}.{name}"


@pytest.mark.parametrize("cls", [cls for cls in RESULTS if cls is not base.Result])
def test_results_are_frozen_dataclasses(cls: type) -> None:
    assert dataclasses.is_dataclass(cls)
    assert cls.__dataclass_params__.frozen  # type: ignore[attr-defined]
    assert not hasattr(cls, "__dict__") or "__slots__" in vars(cls)


def test_the_version_is_the_one_of_the_package() -> None:
    from importlib.metadata import version

    assert memhop.__version__ == version("memhop")
