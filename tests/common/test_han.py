"""Cutting Han text: silent, repeatable, complete."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memhop.common import han


def test_words_are_those_of_the_library() -> None:
    assert han.cut("我在北京工作") == ["我", "在", "北京", "工作"]
    assert han.cut("他来到了网易杭研大厦") == ["他", "来到", "了", "网易", "杭研", "大厦"]
    assert han.cut("") == []


def test_cutting_between_blocks_beforehand_changes_nothing() -> None:
    import jieba

    plain = jieba.Tokenizer()
    plain.FREQ, plain.total = plain.gen_pfdict(plain.get_dict_file())
    plain.initialized = True
    text = "小明硕士毕业于中国科学院计算所，\r\n后在日本京都大学深造。用 PostgreSQL 16，延迟 30ms! カナ 🎉 " * 20
    assert len(text) > 512
    assert han.cut(text) == list(plain.cut(text))


@given(st.text(st.sampled_from("我在北京工作龘靐，。 \r\naZ9+#&._%-カ한é🎉\ud800"), max_size=1200))
@settings(derandomize=True, deadline=None, max_examples=100)
def test_the_words_joined_are_the_text(text: str) -> None:
    assert "".join(han.cut(text)) == text


@pytest.mark.parametrize("part", ["龘靐齉齾爩鱻", "我在北京工作", "a", "，", "1"])
def test_time_is_linear_in_the_length(part: str) -> None:
    """A run of 16,000 unknown characters took 27 times as long as one of 2,000: the Viterbi pass copies its path."""
    text = part * (100_000 // len(part))
    han.cut(part)
    start = time.process_time()
    assert "".join(han.cut(text)) == text
    assert time.process_time() - start < 5.0


def test_loading_is_silent_and_writes_no_file_even_with_warnings_as_errors(tmp_path: Path) -> None:
    """The library prints to stderr, keeps a marshal file in the shared temporary directory, and does not compile
    under `-W error` since Python 3.12. The bytecode cache is pointed elsewhere, so that it is compiled afresh.
    """
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", "from memhop.common.han import cut; print(len(cut('我在北京工作')))"],
        capture_output=True,
        text=True,
        timeout=120,
        env={"TMPDIR": str(temporary), "PYTHONPYCACHEPREFIX": str(tmp_path / "bytecode"), "HOME": str(tmp_path)},
    )
    assert (done.stdout.strip(), done.stderr, done.returncode) == ("4", "", 0)
    assert list(temporary.iterdir()) == []


def test_words_a_host_adds_do_not_change_the_cut() -> None:
    import jieba

    before = han.cut("我在北京工作")
    jieba.dt.FREQ["我在北京"] = 10**9
    assert han.cut("我在北京工作") == before
    del jieba.dt.FREQ["我在北京"]


def test_threads_share_one_dictionary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(han, "_tokenizer", None)
    seen: set[int] = set()
    results: list[list[str]] = []

    def work() -> None:
        results.append(han.cut("我在北京工作"))
        seen.add(id(han._tokenizer))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 1
    assert results == [["我", "在", "北京", "工作"]] * 8
