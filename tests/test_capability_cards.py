"""The cards that come along promise nothing that is not there, in both languages."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path

import pytest

from memhop import DB
from memhop.repo.builtin import builtin_cards
from memhop.repo.l5_capability import Capability

FOLDER = Path(__file__).resolve().parent.parent / "capabilities"
NAMES = """
    memhop-guide memhop-search memhop-update memhop-dream memhop-trajectory memhop-crystallize memhop-capability-import
    memhop-recall memhop-remember memhop-forget memhop-facts memhop-knowledge memhop-scenes memhop-profile memhop-backup
    agent-read-file agent-write-file agent-edit-file agent-run-command
    agent-search-files agent-web-search
""".split()
CARDS = builtin_cards()
HAN = re.compile(r"[\u4e00-\u9fff]")
CALLS = [(card.name, resource) for card in CARDS for resource in card.resources if resource.type == "mcp"]


def test_all_are_there() -> None:
    assert set(NAMES) <= {card.name for card in CARDS}
    assert len({card.name.casefold() for card in CARDS}) == len(CARDS)


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.name)
def test_a_card_is_whole_in_english_and_chinese(card: Capability) -> None:
    words = card.translations["zh"]
    assert card.summary
    assert card.trigger
    assert not HAN.search(card.summary + card.trigger)
    assert HAN.search(words.summary)
    assert HAN.search(words.trigger)
    for resource in card.resources:
        assert resource.description
        assert HAN.search(words.resources[resource.name])
    assert all(map(HAN.search, words.actions))
    assert len(words.actions) == len(card.workflow.steps)
    assert (FOLDER / f"{card.name}.json").is_file()


@pytest.mark.parametrize(("name", "resource"), CALLS, ids=lambda value: getattr(value, "ref", value))
def test_a_call_that_a_card_names_exists_with_these_arguments(name: str, resource: object) -> None:
    ref, config = resource.ref, resource.config  # type: ignore[attr-defined]
    owner, *steps = ref.split(".")
    assert owner == "DB"
    target: object = DB
    for step in steps[:-1]:
        hint = inspect.signature(getattr(target, step).fget).return_annotation
        module = inspect.getmodule(target)
        assert module is not None
        target = _namespace(hint)
    call = getattr(target, steps[-1])
    parameters = set(inspect.signature(call).parameters) - {"self"}
    named = {argument.strip() for argument in config.split(",") if argument.strip()}
    assert named <= parameters, f"{name}: {ref} has no {named - parameters}"


def _namespace(name: str) -> type:
    """The class of a namespace of `DB`, by the name in its annotation."""
    import importlib

    module = next(path for path in Path("memhop/api").glob("*.py") if f"class {name}(" in path.read_text("utf-8"))
    found = getattr(importlib.import_module(f"memhop.api.{module.stem}"), name)
    assert isinstance(found, type)
    return found


def test_files_are_tidy() -> None:
    for path in FOLDER.glob("*.json"):
        text = path.read_text("utf-8")
        assert text == json.dumps(json.loads(text), ensure_ascii=False, indent=2) + "\n", path.name
