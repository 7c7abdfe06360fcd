"""Secrets by their form: all listed ones are found, ordinary text is left alone, and no text takes long."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from memhop.common import secrets

ROOT = Path(__file__).parent.parent.parent
JWT = (
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIn0"
    ".SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c"
)
BODY = "MIIEpAIBAAKCAQEA1c7+9z5Pad7OejecsQ0bu3aumQDBGsNy9K4Yq6Yb\nqabcdEFGH12345678/ZZ==\n"


def key_block(kind: str, body: str = BODY) -> str:
    return f"-----BEGIN {kind}-----\n{body}-----END {kind}-----"


FORMS = [  # text, what of it is a secret, its form
    ("my key is {} ok", "sk-proj-abcDEF1234567890ghiJKL4567mnopQR", "openai-key"),
    ("{}", "sk-abcd1234EFGH5678ijkl9012MNOP3456qrst7890UVWX1234", "openai-key"),
    ("OPENAI_API_KEY={}", "sk-abcd1234EFGH5678ijkl9012MNOP3456", "openai-key"),
    ("use {}, please", "sk-ant-api03-AbCd1234efgh5678-IJKL_mnopQRST", "anthropic-key"),
    ("{}", "sk-or-v1-" + "0123456789abcdef" * 4, "openrouter-key"),
    ("token {}.", "ghp_aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hI6", "github-token"),
    ("{}", "github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz0123456789ABCDEFG", "github-token"),
    ("{}", "glpat-a1B2c3D4e5F6g7H8i9J0", "gitlab-token"),
    ("slack: {}", "xoxb-123456789012-1234567890123-AbCdEfGhIjKlMnOpQrStUvWx", "slack-token"),
    ("https://hooks.slack.com/services/{}", "T0AB1CD2E/B0AB1CD2E/aB3dE6gH9jK2mN5pQ8sT1vW4", "slack-webhook"),
    ("id {}", "AKIAIOSFODNN7EXAMPLE", "aws-access-key"),
    ("aws_secret_access_key = {}", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "aws-secret-key"),
    ("?key={}&q=1", "AIzaSyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY", "google-key"),
    ("{}", "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", "google-secret"),
    ("{}", "hf_AbCdEfGhIjKlMnOpQrStUvWxYzAbCdEfGh", "huggingface-token"),
    ("//registry/:_authToken={}", "npm_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8", "npm-token"),
    ("{}", "sk_live_51H8abcdEFGHijklMNOP", "stripe-key"),
    ("{}", "rk_test_51H8abcdEFGHijklMNOP", "stripe-key"),
    ("{}", "whsec_aB3dE6gH9jK2mN5pQ8sT1vW4yZ7b", "stripe-key"),
    ("{}", "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", "sendgrid-key"),
    ("{}", "123456789:AAbcdEFGH1234567890ijklMNOP_qrst123", "telegram-token"),
    ("it said {} and then", JWT, "jwt"),
    ("Authorization: Bearer {}", "abc123DEF456ghi789JKL0", "bearer-token"),
    ("Authorization: Basic {}", "YWxhZGRpbjpvcGVuc2VzYW1lMQ==", "basic-credentials"),
    ("a {} b", key_block("RSA PRIVATE KEY"), "private-key"),
    ("{}", key_block("PRIVATE KEY"), "private-key"),
    ("{}", key_block("EC PRIVATE KEY"), "private-key"),
    ("{}", key_block("OPENSSH PRIVATE KEY"), "private-key"),
    ("{}", key_block("PGP PRIVATE KEY BLOCK", "Version: GnuPG v2\n\n" + BODY + "=aB3d\n"), "private-key"),
    (
        "{}",
        key_block("RSA PRIVATE KEY", "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,AB12\n\n" + BODY),
        "private-key",
    ),
    ('"{}"', key_block("RSA PRIVATE KEY").replace("\n", "\\n"), "private-key"),
    ("{}", "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ", "private-key"),
    ("pay with {} please", "4111 1111 1111 1111", "card-number"),
    ("or {}.", "5555-5555-5555-4444", "card-number"),
    ("卡号{}。", "378282246310005", "card-number"),
    ("{}", "6222021234567890128", "card-number"),
    ("{}", "2223003122003222", "card-number"),
    ("{}", "3056 930902 5904", "card-number"),
    ("postgres://bob:{}@db.example.com/x", "hunter22x", "url-password"),
    ("password = {}", "Tr0ub4dor&3", "password"),
    ("My password is {}, keep it", "Summer2024!", "password"),
    ('{{"api_key": "{}"}}', "a8f5f167f44f4964e6c998dee827110c", "password"),
    ("密码是{}", "Tr0ub4dor33", "password"),
    ("client_secret: '{}'", "q8W7e6R5t4Y3u2", "password"),
]


@pytest.mark.parametrize(("text", "secret", "name"), FORMS)
def test_each_form_is_masked_and_nothing_beside_it(text: str, secret: str, name: str) -> None:
    whole = text.format(secret)
    masked, count = secrets.mask(whole)
    assert (masked, count) == (text.format(f"[secret:{name}]"), 1)
    assert secrets.mask(masked) == (masked, 0)


def test_several_in_one_text() -> None:
    pair = "AKIAIOSFODNN7EXAMPLE and wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
    assert secrets.mask(pair) == ("[secret:aws-access-key] and [secret:aws-secret-key]", 2)
    whole = " / ".join(text.format(secret) for text, secret, _ in FORMS)
    masked, count = secrets.mask(whole)
    assert count >= len(FORMS)
    assert not [secret for _, secret, _ in FORMS if secret in masked]


@pytest.mark.parametrize(
    "text",
    [
        "the token is sent as Bearer token in the Authorization header",
        "sk-learn-based-models-are-good-for-this",
        "a task-force of risk-averse desk-bound people",
        "password: see the wiki page",
        "Password must have 8-64 characters",
        "order 4111111111111112 came at 1700000000000",
        "isbn 978-3-16-148410-0, phone +44 20 7946 0958, 2024-05-08 12:30:45.123456",
        "part 4111.1111.1111.1111, invoice A4111111111111111",
        "https://user:password@host/ and https://host:8080/path@2x.png",
        'password=os.environ["DB_PASSWORD_1"]',
        "token = page_token_2024_next",
        "secret = get_secret(name2)",
        "api_key = $OPENAI_API_KEY_2, password={{ vault.pass1word }}",
        "see the -----BEGIN RSA PRIVATE KEY----- header",
        "key: 2024-05-08, token: v1.2.3-rc1",
        "eyJhbGciOiJ is how they begin",
        "commit 3f0c52b1a09e77d4c8d7 of 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "[secret:openai-key] was taken out",
        "0000 0000 0000 0000",
    ],
)
def test_what_only_looks_alike_stays(text: str) -> None:
    assert secrets.mask(text) == (text, 0)


def test_the_projects_own_texts_hold_none() -> None:
    """Prose and code, 2 MB of it: whatever is masked there would be masked in the notes of its users."""
    texts = [*ROOT.glob("*.md"), *(ROOT / "memhop").rglob("*.py"), *(ROOT / "memhop").rglob("*.md")]
    assert len(texts) > 100
    for path in texts:
        assert secrets.find(path.read_text("utf-8")) == [], path


def test_the_conversations_hold_none() -> None:
    path = Path("/work/shared/data/locomo_dev.json")
    if not path.exists():
        pytest.skip("the conversations are not here")
    assert secrets.find(json.dumps(json.loads(path.read_text("utf-8")), indent=0)) == []


HOSTILE = [
    "a", " ", "eyJ", "eyJaaaaaaaaa.", "sk-", "sk-aaaa ", "-----BEGIN PRIVATE KEY-----\n", "A: b\n", "4", "4 ", "4111 ",
    "-----BEGIN PRIVATE KEY-----\nAAAAAAAAAAAAAAAA", "-----BEGIN PRIVATE KEY-----" + "\n" * 8, "://a:", "://", "://a:b",
    "password ", "password=", "password=" + "a1b2" * 100, "bearer ", "Bearer a1", "basic YWFh", "<private>", "<",
    "AKIAIOSFODNN7EXAMPLE ", "hooks.slack.com/services/T", "key: ", "a1", "1a ", "hf_", "密码", "=>", "xox",
]  # fmt: skip


@pytest.mark.parametrize("unit", HOSTILE)
def test_no_text_takes_long(unit: str) -> None:
    """256 KiB of what makes a careless pattern quadratic, which would be minutes. Also behind a mark that is real."""
    text = "AKIAIOSFODNN7EXAMPLE " + unit * (256 * 1024 // len(unit))
    begun = time.process_time()
    secrets.find(text)
    secrets.without_private(text)
    assert time.process_time() - begun < 5.0


@pytest.mark.parametrize(
    ("text", "kept", "spans"),
    [
        ("a <private>b</private> c", "a  c", 1),
        ("a <PRIVATE>b</Private> c <private>d</private>", "a  c ", 2),
        ("a <private>b <private>c</private> d</private> e", "a  e", 1),
        ("a <private>b", "a ", 1),
        ("a <private>b <private>c</private> d", "a ", 1),
        ("< private >b</ private >c", "c", 1),
        ("a </private> b", "a </private> b", 0),
        ("a private matter", "a private matter", 0),
        ("<privately>b</privately>", "<privately>b</privately>", 0),
        ("<private></private>", "", 1),
        ("a<private\n>b</private>", "a", 1),
    ],
)
def test_private_spans(text: str, kept: str, spans: int) -> None:
    assert secrets.without_private(text) == (kept, spans)


def test_a_field_may_name_what_its_value_is() -> None:
    assert secrets.is_password("db_password", "q8W7e6R5t4")
    assert not secrets.is_password("db_password", "none yet")
    assert not secrets.is_password("passage", "q8W7e6R5t4")
    assert not secrets.is_password("commit", "q8W7e6R5t4")
    assert not secrets.is_password("password", "[secret:password]1a2b")
