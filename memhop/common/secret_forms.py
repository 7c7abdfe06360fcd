"""The forms of secrets, and looking for each.

No pattern can be made to look at a character more than a bounded number of times: each begins behind a boundary that
its own repeats cannot contain, or repeats a bounded number of times.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Final, NamedTuple


class Secret(NamedTuple):
    """A secret at `start:end` of a text. `name` says of what form."""

    start: int
    end: int
    name: str


_WORD: Final = r"(?<![A-Za-z0-9_-])"  # in front of a form that begins with its own marker
_STOP: Final = r"(?![A-Za-z0-9_-])"
# Forms that are told by their beginning.
_MARKED: Final = (
    ("anthropic-key", r"sk-ant-[A-Za-z0-9_-]{20,}"),
    ("openrouter-key", r"sk-or-v1-[0-9a-f]{32,}"),
    ("openai-key", r"sk-(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{20,}"),
    ("groq-key", r"gsk_[A-Za-z0-9]{40,}"),
    ("xai-key", r"xai-[A-Za-z0-9]{40,}"),
    ("github-token", r"gh[pousr]_[A-Za-z0-9]{30,}"),
    ("github-token", r"github_pat_[A-Za-z0-9_]{40,}"),
    ("gitlab-token", r"gl(?:pat|ptt|rt|dt)-[A-Za-z0-9_-]{20,}"),
    ("slack-token", r"xox[abeoprs]-[A-Za-z0-9-]{16,}"),
    ("slack-token", r"xapp-[0-9]-[A-Za-z0-9-]{16,}"),
    ("aws-access-key", r"(?:AKIA|ASIA)[A-Z0-9]{16}"),
    ("google-key", r"AIza[A-Za-z0-9_-]{35}"),
    ("google-secret", r"GOCSPX-[A-Za-z0-9_-]{28}"),
    ("google-token", r"ya29\.[A-Za-z0-9_-]{30,}"),
    ("huggingface-token", r"hf_[A-Za-z0-9]{30,}"),
    ("npm-token", r"npm_[A-Za-z0-9]{36}"),
    ("pypi-token", r"pypi-[A-Za-z0-9_-]{60,}"),
    ("stripe-key", r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,}"),
    ("stripe-key", r"whsec_[A-Za-z0-9+/=]{24,}"),
    ("sendgrid-key", r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}"),
    ("digitalocean-token", r"do[opr]_v1_[0-9a-f]{64}"),
    ("age-key", r"AGE-SECRET-KEY-1[A-Z0-9]{58}"),
)
_MARKERS: Final = re.compile(
    _WORD + "(?:" + "|".join(f"(?P<n{index}>{pattern})" for index, (_, pattern) in enumerate(_MARKED)) + ")" + _STOP
)
_JWT: Final = re.compile(_WORD + r"(eyJ[A-Za-z0-9_-]{8,})\.eyJ[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]{16,}" + _STOP)
_AWS_SECRET: Final = re.compile(r"(?<![A-Za-z0-9/+_-])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=_-])")
_AWS_NAMED: Final = re.compile(
    r"(?:secret|aws)[a-z_ -]{0,24}[\"']?[ \t]{0,8}[=:][ \t]{0,8}[\"']?([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=_-])",
    re.IGNORECASE,
)
_AWS_REACH: Final = 256  # characters between the two halves of a pair of AWS keys
_WEBHOOK: Final = re.compile(r"hooks\.slack\.com/services/(T[A-Z0-9]{6,16}/B[A-Z0-9]{6,16}/[A-Za-z0-9]{16,64})")
_BOT: Final = re.compile(r"(?<![A-Za-z0-9_-])[0-9]{8,10}:AA[A-Za-z0-9_-]{33}" + _STOP)
_KEY_BLOCK: Final = re.compile(
    r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:\s|\\[nr]){0,8}(?:[A-Za-z][A-Za-z-]{0,30}: [^\r\n]{0,120}(?:\s|\\[nr]){1,8}){0,8}"
    r"(?:[A-Za-z0-9+/=]{16,}(?:\s|\\[nr]){0,8})++"
    r"(?:[A-Za-z0-9+/=]{1,15}(?:\s|\\[nr]){0,8})?(?:=[A-Za-z0-9+/]{4}(?:\s|\\[nr]){0,8})?"
    r"(?:-----END [A-Z0-9 ]{1,48}-----)?"
)
_IN_URL: Final = re.compile(r"://[^\s/?#@:'\"<>]{0,128}:([^\s/?#@'\"<>]{3,256})@")
_BEARER: Final = re.compile(r"\b(?:[Bb]earer|BEARER)[ \t]{1,4}([A-Za-z0-9._~+/=-]{20,})")
_BASIC: Final = re.compile(r"\b[Bb]asic[ \t]{1,4}([A-Za-z0-9+/]{12,}={0,2})(?![A-Za-z0-9+/=])")
_NAMES: Final = (
    r"pass(?:word|wd|phrase|code)?|pwd|secret|token|credentials?"
    r"|(?:api|access|account|auth|client|encryption|private|secret|shared|signing)[ _-]?(?:key|secret|token)"
    r"|密码|口令|密钥"
)
_NAME: Final = re.compile(rf"(?:^|[^a-z])(?:{_NAMES})(?:$|[^a-z])", re.IGNORECASE)
_ASSIGNED: Final = re.compile(
    rf"(?:{_NAMES})[\"'`]?[ \t]{{0,8}}(?:=>|:=|==?|:|：|\bis\b|是|为)[ \t]{{0,8}}[\"'`]?"
    r"([^\s\"'`<>\[\]{}|，。]{8,256})",
    re.IGNORECASE,
)
_CARD: Final = re.compile(
    r"(?<![A-Za-z0-9_.,/:=-])[2-6][0-9]{3}(?:[0-9]|[ -](?=[0-9])){9,18}(?![A-Za-z0-9_-]|[.,/:][0-9])"
)
_GROUPED: Final = re.compile(
    r"[0-9]{13,19}|[0-9]{4}([ -])(?:[0-9]{4}\1[0-9]{4}\1[0-9]{4}(?:\1[0-9]{3})?|[0-9]{6}\1[0-9]{4,5})"
)
_EXAMPLES: Final = frozenset(("pass", "password", "passwd", "pwd", "secret", "token", "user", "pw", "xxx", "key"))
_CLASSES: Final = dict.fromkeys("0123456789", 0) | dict.fromkeys(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", 1
)
_LEAST_TURNS: Final = 3  # changes between letters and digits in a value that is drawn at random


def names_password(name: str, value: str) -> bool:
    """Whether a value is a secret because a field of this name holds it."""
    return not value.startswith("[secret:") and bool(_NAME.search(name)) and _drawn(value)


def _marked(text: str) -> Iterator[Secret]:
    for match in _MARKERS.finditer(text):
        name = _MARKED[int((match.lastgroup or "n0")[1:])][0]
        if name in ("openai-key", "gitlab-token") and not _drawn(match[0]):
            continue  # words joined by hyphens
        yield Secret(*match.span(), name)
        if name == "aws-access-key":
            begin = max(0, match.start() - _AWS_REACH)
            for other in _AWS_SECRET.finditer(text, begin, match.end() + _AWS_REACH):
                if _mixed(other[0]):
                    yield Secret(*other.span(), "aws-secret-key")
    for named in _AWS_NAMED.finditer(text):
        if _mixed(named[1]):
            yield Secret(*named.span(1), "aws-secret-key")


def _tokens(text: str) -> Iterator[Secret]:
    for match in _JWT.finditer(text):
        head = match[1]
        try:
            is_token = b'"alg"' in urlsafe_b64decode(head + "=" * (-len(head) % 4))
        except ValueError:
            is_token = False
        if is_token:
            yield Secret(*match.span(), "jwt")
    for match in _WEBHOOK.finditer(text):
        yield Secret(*match.span(1), "slack-webhook")
    for match in _BOT.finditer(text):
        yield Secret(*match.span(), "telegram-token")
    for match in _BEARER.finditer(text):
        if _drawn(match[1]):
            yield Secret(*match.span(1), "bearer-token")
    for match in _BASIC.finditer(text):
        try:
            is_pair = b":" in urlsafe_b64decode(match[1] + "=" * (-len(match[1].rstrip("=")) % 4))[1:-1]
        except ValueError:
            is_pair = False
        if is_pair and _drawn(match[1]):
            yield Secret(*match.span(1), "basic-credentials")


def _key_blocks(text: str) -> Iterator[Secret]:
    for match in _KEY_BLOCK.finditer(text):
        yield Secret(match.start(), match.start() + len(match[0].rstrip()), "private-key")


def _passwords(text: str) -> Iterator[Secret]:
    for match in _IN_URL.finditer(text):
        value = match[1]
        if value.lower() not in _EXAMPLES and value[0] not in "$%{[*" and value.strip("x*.…"):
            yield Secret(*match.span(1), "url-password")
    for match in _ASSIGNED.finditer(text):
        value = match[1].rstrip(".,;:)!?…")
        if len(value) < len(match[1]) and match[1][len(value)] == "!":
            value += "!"
        if len(value) >= 8 and _drawn(value):
            yield Secret(match.start(1), match.start(1) + len(value), "password")


def _cards(text: str) -> Iterator[Secret]:
    for match in _CARD.finditer(text):
        written = match[0]
        if _GROUPED.fullmatch(written) is None:
            continue
        digits = written.replace(" ", "").replace("-", "")
        if _issued(digits, grouped=digits != written) and _luhn(digits):
            yield Secret(*match.span(), "card-number")


def _mixed(value: str) -> bool:
    """Whether a value has capitals, small letters and digits."""
    return not value.isupper() and not value.islower() and any(map(str.isdigit, value))


def _drawn(value: str) -> bool:
    """Whether a value looks drawn at random, or chosen as a password: letters and digits that take turns, or a sign
    among both. Names, paths, dates, calls and placeholders do not."""
    if value[0] in "$%*/~." or "(" in value or "://" in value or len(set(value)) < 6:
        return False
    classes = [_CLASSES.get(char, 2) for char in value[:256]]
    letters, digits = classes.count(1), classes.count(0)
    if not letters or not digits:
        return False
    turns = sum(1 for one, other in pairwise(classes) if one + other == 1)
    return turns >= _LEAST_TURNS or (turns >= 1 and any(sign in "!@#$%^&*+?=~" for sign in value))


_LENGTHS: Final = ((("34", "37"), (15,)), (("36", "38", "300", "301", "302", "303", "304", "305"), (14,)))


def _issued(digits: str, *, grouped: bool) -> bool:
    """Whether a number begins as one of its length that is issued. Those of 14 digits only in groups: a date and a time
    have as many."""
    length, four = len(digits), int(digits[:4])
    if length == 16 and (digits[0] == "4" or 5100 <= four <= 5599 or 2221 <= four <= 2720):
        return True
    if 16 <= length <= 19 and (
        four == 6011
        or 6440 <= four <= 6599
        or 3528 <= four <= 3589
        or digits[:2] == "62"
        or (length == 19 and four // 1000 == 4)
    ):
        return True
    return any(
        length in lengths and digits.startswith(starts) and (grouped or length > 14) for starts, lengths in _LENGTHS
    )


def _luhn(digits: str) -> bool:
    """The check digit of ISO/IEC 7812-1. All digits alike is nobody's number."""
    if len(set(digits)) < 2:
        return False
    total = 0
    for place, char in enumerate(reversed(digits)):
        value = int(char) << (place & 1)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


class Look(NamedTuple):
    """`look` finds nothing in a text that has none of `marks` when its case is folded: seeing that is much cheaper."""

    marks: tuple[str, ...]
    look: Callable[[str], Iterator[Secret]]


LOOKS: Final = (
    Look(("-----begin",), _key_blocks),
    Look(
        (
            *(
                "sk-",
                "gsk_",
                "xai-",
                "ghp_",
                "gho_",
                "ghu_",
                "ghs_",
                "ghr_",
                "github_pat_",
                "glpat-",
                "glptt-",
                "glrt-",
            ),
            *("gldt-", "xox", "xapp-", "akia", "asia", "aiza", "gocspx-", "ya29.", "hf_", "npm_", "pypi-", "k_live_"),
            *("k_test_", "whsec_", "sg.", "_v1_", "age-secret-key", "secret", "aws"),
        ),
        _marked,
    ),
    Look(("eyj", "hooks.slack.com", ":aa", "bearer", "basic"), _tokens),
    Look(("://", "pass", "pwd", "secret", "token", "credential", "key", "密码", "口令", "密钥"), _passwords),
    Look(tuple("0123456789"), _cards),
)
