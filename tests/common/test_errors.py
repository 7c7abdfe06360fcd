"""The error tree: one class per decision of the caller, numbers that never change, one line for a person."""

from __future__ import annotations

import json
import pickle

import pytest

from memhop.common import errors

CODES = {
    "MemhopError": 1000,
    "ConfigError": 1001,
    "VectorSpaceMismatch": 1002,
    "InvalidRequest": 1003,
    "NotFound": 3001,
    "Conflict": 3002,
    "Forbidden": 4003,
    "StorageError": 5001,
    "Closed": 5002,
    "BadFormat": 5003,
    "Corrupt": 5005,
    "Locked": 5008,
    "WriteRefused": 5009,
    "Busy": 6001,
    "TimedOut": 6002,
    "ProviderError": 9000,
    "EmbedderError": 9001,
    "ChatError": 9002,
}


def _classes() -> list[type[errors.MemhopError]]:
    found = (member for member in vars(errors).values() if isinstance(member, type))
    return [member for member in found if issubclass(member, errors.MemhopError)]


def test_codes_are_those_that_were_released() -> None:
    assert {cls.__name__: cls.code for cls in _classes()} == CODES


def test_the_drawing_shows_every_class_and_code() -> None:
    drawing = errors.__doc__ or ""
    for cls in _classes()[1:]:
        row = next(line for line in drawing.splitlines() if f" {cls.__name__} " in line)
        assert str(cls.code) in row


@pytest.mark.parametrize(
    ("cls", "kin"),
    [
        (errors.InvalidRequest, ValueError),
        (errors.NotFound, LookupError),
        (errors.StorageError, OSError),
        (errors.Corrupt, errors.StorageError),
        (errors.Closed, errors.StorageError),
        (errors.Locked, errors.StorageError),
        (errors.WriteRefused, errors.StorageError),
        (errors.EmbedderError, errors.ProviderError),
    ],
)
def test_kinship(cls: type[Exception], kin: type[Exception]) -> None:
    assert issubclass(cls, kin)


def test_one_line_for_a_person() -> None:
    error = errors.InvalidRequest("5 is not a text", field="text", allowed="a str", hint="quote it")
    assert str(error) == "text: 5 is not a text (allowed: a str) [quote it]"
    assert str(errors.NotFound("nothing")) == "nothing"


def test_as_json() -> None:
    error = errors.Corrupt("frame checksum", offset=4711, expected=1, found=2)
    assert (error.offset, error.expected, error.found) == (4711, 1, 2)
    shown = json.loads(json.dumps(error.to_dict()))
    assert shown == {
        "error": "Corrupt",
        "code": 5005,
        "message": "frame checksum at byte 4711: expected 0x1, found 0x2",
        "field": None,
        "allowed": None,
        "hint": "run `memhop verify`",
    }


def test_a_lock_names_its_holder_or_says_that_it_cannot() -> None:
    known = errors.Locked("a.meh", pid=7, host="box", since="2026-05-28T20:26:40Z", purpose="dream")
    assert str(known).startswith("a.meh is held by process 7 on box, dream, since 2026-05-28T20:26:40Z")
    assert "an unknown process" in str(errors.Locked("a.meh"))


@pytest.mark.parametrize("cls", [cls for cls in _classes() if cls not in (errors.Corrupt, errors.Locked)])
def test_they_survive_a_process_border(cls: type[errors.MemhopError]) -> None:
    """Pools hand errors on by pickle."""
    error = cls("what happened", hint="h")
    copied = pickle.loads(pickle.dumps(error))
    assert type(copied) is cls
    assert copied.to_dict() == error.to_dict()


def test_a_provider_says_whether_to_try_again() -> None:
    assert errors.EmbedderError("busy").retryable
    refused = errors.ChatError("no such model", retryable=False, retry_after_s=None)
    assert (refused.retryable, refused.retry_after_s) == (False, None)
    assert pickle.loads(pickle.dumps(refused)).retryable is False
