"""Any text in any language gives terms, and is found by its parts."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memhop.index import tokenizer
from memhop.index.tokenizer import MAX_TERM, TOKENIZER_VERSION, other_forms, query_terms, tokenize

SCRIPTS = [
    "abc Zq09",
    "_./\\-@:=+&~#$,'\"",
    "éßİñ\u0301\u0316",
    "我他什么时候喜欢猫北京的吗貓",
    "今日はしりとりカー々",
    "오늘 끝말",
    "สวัสดีที่",
    "हिन्दी",
    "🎉❤️👩‍💻",
    "\u200b\ufeff\u00ad\ud800\x00\n\t ",
    "ﬁ①ﷺ¨",
]
texts = st.text(max_size=60) | st.lists(st.sampled_from("".join(SCRIPTS)), max_size=40).map("".join)


@given(texts)
@settings(max_examples=400, derandomize=True, deadline=None)
@example("\u200b")
@example("\ud800")
@example("\u00a8")
@example("??!")
@example("_")
@example("\u0301")
def test_every_string_gives_terms_unless_blank(text: str) -> None:
    for function in (tokenize, query_terms):
        terms = function(text)
        assert terms == function(text)
        assert bool(terms) == bool(text.strip())
        assert all(0 < len(term) <= MAX_TERM for term in terms)
        assert not any(term.isspace() for term in terms)


@given(texts, st.data())
@settings(max_examples=400, derandomize=True, deadline=None)
def test_a_text_is_found_by_any_run_of_its_words(text: str, data: st.DataObject) -> None:
    words = text.split()
    if words:
        first = data.draw(st.integers(0, len(words) - 1))
        last = data.draw(st.integers(first, len(words) - 1))
        query = " ".join(words[first : last + 1])
        assert set(query_terms(query)) & set(tokenize(text)), query


@given(st.lists(st.sampled_from(["a", "the", "Is", "fooBar", "x9", "7", "000", *"./-_@:,+#$'()&= "])), st.data())
@settings(max_examples=400, derandomize=True, deadline=None)
@example(["this", "/", "is", "/", "a", "/", "b"], None)
def test_a_text_is_found_by_pieces_cut_at_punctuation(pieces: list[str], data: st.DataObject | None) -> None:
    """Also by a piece that is all stop words, from the middle of a path, without the rest of it."""
    spans = [match.span() for match in re.finditer(r"[A-Za-z0-9]+", "".join(pieces))]
    if spans:
        first = data.draw(st.integers(0, len(spans) - 1)) if data else 1
        last = data.draw(st.integers(first, len(spans) - 1)) if data else 2
        query = "".join(pieces)[spans[first][0] : spans[last][1]]
        assert set(query_terms(query)) & set(tokenize("".join(pieces))), query


@given(st.lists(st.sampled_from("我他什么时候喜欢猫北京的吗去不"), min_size=1, max_size=14).map("".join), st.data())
@settings(max_examples=150, derandomize=True, deadline=None)
def test_a_han_text_is_found_by_any_piece_of_it(text: str, data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(text) - 1))
    last = data.draw(st.integers(first + 1, len(text)))
    assert set(query_terms(text[first:last])) & set(tokenize(text)), text[first:last]


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("fetchUserData", {"fetchuserdata", "fetch", "user", "data"}),
        ("src/main.py", {"src/main.py", "src", "main.py", "main", "py"}),
        ("snake_case", {"snake_case", "snake", "case"}),
        ("user@host.org", {"user@host.org", "user", "host.org", "host", "org"}),
        ("C#", {"c#", "c"}),
        ("c++", {"c++", "c"}),
        ("use .net", {"use", ".net", "net"}),
        ("a/b", {"a/b", "a", "b"}),
        ("1.2.3", {"1.2.3", "1", "2", "3"}),
        ("v1.2.3", {"v1.2.3", "1.2.3", "v1", "2", "3"}),
        ("1,000,000", {"1000000", "1", "000"}),
        ("$100", {"$100", "100"}),
        ("HTTPServer2", {"httpserver2", "http", "server"}),
        ("deadbeef01ab23", {"deadbeef01ab23"}),
        ("e=mc2", {"e=mc2", "e", "mc2", "mc"}),
        ("running cities", {"run", "citi"}),
        ("Café", {"café", "cafe"}),
        ("ﬁne Ｆｕｌｌ", {"fine", "full"}),
        ("co\u00adoperate", {"cooper"}),
        ("हिन्दी", {"हिन्दी"}),
        ("a -> b", {"a", "->", "b"}),
        ("Done 🎉!", {"done", "🎉"}),
        ("❤️", {"❤"}),
        ("猫", {"猫"}),
        ("しりとり", {"し", "り", "と", "しり", "りと", "とり"}),
        ("권", {"권"}),
    ],
)
def test_terms_of(text: str, terms: set[str]) -> None:
    assert set(tokenize(text)) == terms


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("When did she go to the zoo?", ["go", "zoo"]),
        ("what is the", ["what", "is", "the"]),
        ("she's the one who don't", ["one"]),
        ("她什么时候去北京", ["北京", "北京"]),
        ("什么", ["什么", "什么"]),
        ("我的猫在哪", ["猫"]),
        ("東京について", ["東京", "東京"]),
        ("foo - bar", ["foo", "bar"]),
        ("*", ["*"]),
        ("the/end", ["the/end", "the", "end"]),
    ],
)
def test_queries_ask_for_what_carries_meaning(text: str, terms: list[str]) -> None:
    assert query_terms(text) == terms


@pytest.mark.parametrize(
    ("stored", "query"),
    [
        ("well, it's fine", "it's"),
        ("see gateway/run.py", "gateway/run.py"),
        ("mail user@host now", "user@host"),
        ("a,b", "a,b"),
        ("tell me why?", "why?"),
        ("e=mc2", "e=mc2"),
        ("with #tag", "#tag"),
        ("with #tag", "tag"),
        ("box [x] ticked", "[x]"),
        ("the status: done", "status: done"),
        ('timeout "error', 'timeout "error'),
        ("retry OR fail", "retry OR"),
        ("the pre-edit hook", "pre-edit"),
        ("this AND that", "AND"),
        ("NEAR( is a word", "NEAR("),
        ("a * b", "*"),
        ("pass -x to it", "-x"),
        ("a:b", "a:b"),
        ("tool session-recall", "session-recall"),
        ("read CLAUDE.md", "CLAUDE.md"),
        ("read src/main.py", "main.py"),
        ("read src/main.py", "main"),
        ("read src/main.py", "src/ma"),
        ("今日は成語しりとりをした", "しりとり"),
        ("把機器推論洗成權威事實", "權威事實"),
        ("오늘 끝말잇기 게임을 했다", "끝말잇기"),
        ("我家有一只小猫", "猫"),
        ("우리집에", "집"),
        ("zero \u200b width", "\u200b"),
    ],
)
def test_a_memory_is_found_by_the_string_it_holds(stored: str, query: str) -> None:
    """Searches that other engines' query syntax or word breaking turned into errors or into silence."""
    assert set(query_terms(query)) & set(tokenize(stored))


@pytest.mark.parametrize("query", ["retry", "OR", "-x", "NOT a", '"', "a:b"])
def test_nothing_is_syntax(query: str) -> None:
    assert set(query_terms(query)) <= set(tokenize(query))


HOSTILE = ["a", "a/", ".a", "a_", "aB", "\u0301", "a\u0301", "\u0316\u0301", "\u200d", "(\u200b", "?", "?? ", "_", "#"]
HOSTILE += ["+", "1,000", "\x00", "\ufdfa", "漢", "か", "\ud800", "🎉", "a\u200d "]


@pytest.mark.parametrize("unit", HOSTILE)
def test_cost_is_linear(unit: str) -> None:
    """A hundred thousand characters of anything take well under a second; quadratic work would take minutes."""
    text = unit * (100_000 // len(unit))
    tokenize("漢字")  # load the dictionary first
    start = time.process_time()
    tokenize(text)
    query_terms(text)
    assert time.process_time() - start < 5.0


def test_a_megabyte_of_one_letter_is_one_term() -> None:
    assert tokenize("a" * 1_000_000) == ["a" * MAX_TERM]


def test_long_tokens_do_not_stay_in_the_cache() -> None:
    tokenizer._cached_terms.cache_clear()
    tokenize("x" * 1000)
    assert tokenizer._cached_terms.cache_info().currsize == 0


def test_threads_agree() -> None:
    """The stemmer keeps state and must not be shared: interleaved use gave wrong stems."""
    words = [f"{stem}{end}" for stem in ("walk", "jump", "nation", "connect") for end in ("ing", "ed", "ion", "s")]
    expected = [tokenizer._compound_terms(word) for word in words]
    results: list[list[object]] = []

    def work() -> None:
        results.append([tokenizer._compound_terms(word) for word in words * 200])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected * 200] * 4


def test_the_version_names_rules_and_stemmer() -> None:
    import Stemmer

    assert Stemmer.version() in TOKENIZER_VERSION
    with pytest.raises(AttributeError):
        _ = tokenizer.no_such_name


def test_the_dictionary_is_loaded_by_han_alone_and_in_silence() -> None:
    script = (
        "import sys\n"
        "from memhop.index.tokenizer import tokenize\n"
        "tokenize('plain words, ひらがな, 한국어 and 猫')\n"
        "assert 'jieba' not in sys.modules\n"
        "assert '北京' in tokenize('我在北京工作')\n"
        "assert 'jieba' in sys.modules\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("word", "other"),
    [("win", "won"), ("won", "winning"), ("wrote", "written"), ("child", "children"), ("bought", "buys")],
)
def test_other_forms_of_irregular_words(word: str, other: str) -> None:
    (term,) = query_terms(word)
    (expected,) = tokenize(other)
    assert expected in other_forms(term)
    assert term not in other_forms(term)


def test_a_regular_word_has_no_other_forms() -> None:
    assert not other_forms("paint")
    assert not other_forms("")


def test_won_is_asked_for() -> None:
    """ "won" was dropped from queries as the first half of "won't": "how many games has Ann won" asked for games."""
    assert query_terms("How many games has Ann won?") == ["game", "ann", "won"]
