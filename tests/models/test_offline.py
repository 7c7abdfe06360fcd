"""Keywords without a model."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memhop.common.errors import InvalidRequest
from memhop.models.offline import keywords


def test_english_names_dates_amounts_and_identifiers() -> None:
    found = keywords(
        "Ana moved the billing-api to Postgres 16 on 3 May 2024. Rachel Green's wedding is in New York City. "
        "It cost $1,250 and took 3.5 hours; see memhop/index/bm25.py, CVE-2024-3094 and load_model().",
        limit=30,
    )
    for expected in (
        "Ana", "billing-api", "Postgres 16", "3 May 2024", "Rachel Green", "wedding", "New York City",
        "$1,250", "3.5 hours", "memhop/index/bm25.py", "CVE-2024-3094", "load_model",
    ):  # fmt: skip
        assert expected in found, f"{expected!r} is not in {found}"


def test_a_phrase_that_recurs_comes_first_and_takes_its_words_along() -> None:
    found = keywords("I like machine learning. Machine learning models need data. More machine learning, please.")
    assert found[0] == "machine learning"
    assert not {"machine", "learning", "Machine learning"} & set(found)


def test_chinese() -> None:
    found = keywords("用户小王在北京的网易工作，2024年5月8日搬到了上海。小王每天跑5公里，房租3000元。", limit=30)
    for expected in ("小王", "北京", "网易", "2024年5月8日", "上海", "5公里", "3000元"):
        assert expected in found, f"{expected!r} is not in {found}"
    assert not {"的", "了", "在"} & set(found)


def test_mixed_text_keeps_both() -> None:
    found = keywords("我们用 PostgreSQL 16 部署了 recall_service，延迟降到 30ms。PostgreSQL 很稳定。")
    assert found[0] == "PostgreSQL"
    assert {"recall_service", "30ms", "延迟", "部署"} <= set(found)


def test_code_keeps_identifiers_and_drops_its_grammar() -> None:
    found = keywords(
        "def load_model(path: str) -> Model:\n    if not path.exists():\n        raise FileNotFoundError(path)\n"
        "    return Model.from_file(path, dtype=np.float32)\n",
        limit=30,
    )
    assert {"load_model", "FileNotFoundError", "Model.from_file", "np.float32"} <= set(found)
    assert not {"def", "return", "raise", "str"} & set(found)


@pytest.mark.parametrize("text", ["", "  \n", "🎉🎉🚀 !!!", "...", "yes", "ok, thanks!", "的了吗", "1 2 3", "\ud800"])
def test_text_that_says_nothing_has_no_keywords(text: str) -> None:
    assert keywords(text) == []


def test_scripts_with_marks_inside_words_stay_whole() -> None:
    assert keywords("สวัสดีครับ") == ["สวัสดีครับ"]
    assert "データベース" in keywords("東京でデータベースを使う")


def test_a_capital_at_the_start_of_a_sentence_makes_no_name() -> None:
    found = keywords("Painting calms Melanie. Painting with Melanie helps. They enjoy painting.", limit=30)
    assert found.index("Melanie") < found.index("Painting")


@pytest.mark.parametrize(
    "part",
    ["The quick fox at 5 pm. ",
     "我在北京工作，他来到了网易杭研大厦。", "龘靐", "-", "9", "9,", "a", "a_", "aA", "./a", "A-",
     "a@", "a.", "1.", "a'", "\u0301", " ", "\n", "年", "1月", "$", "$9", "v1.", "http://", "+", "/"],
)  # fmt: skip
def test_a_megabyte_takes_bounded_time(part: str) -> None:
    """A megabyte of "-" took three minutes, one of "9," six: every position began a search to the end of the run."""
    keywords("热身 warm up")
    text = part * (1_000_000 // len(part))
    start = time.process_time()
    found = keywords(text)
    assert time.process_time() - start < 5.0
    assert all(len(keyword) <= 300 for keyword in found)


@given(st.text(st.sampled_from("aB1_-./,$%年月京北的 \nñก🎉'@:()"), max_size=120), st.integers(1, 20))
@settings(derandomize=True, deadline=None, max_examples=300)
def test_keywords_are_parts_of_the_text_and_distinct(text: str, limit: int) -> None:
    found = keywords(text, limit)
    assert found == keywords(text, limit)
    assert len(found) <= limit
    assert len({keyword.casefold() for keyword in found}) == len(found)
    squeezed = "".join(text.split())
    assert all("".join(keyword.split()) in squeezed for keyword in found)


@pytest.mark.parametrize("limit", [0, 101, True, 2.0])
def test_limit_is_checked(limit: int) -> None:
    with pytest.raises(InvalidRequest, match="limit"):
        keywords("text", limit)
