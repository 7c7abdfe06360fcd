"""Which structure finds misspelt words fastest: `python -m benches.fuzzy [result.json]`.

Four ways to the same answers, over vocabularies of 1,000, 10,000 and 100,000 words:

    signatures   words in order of length behind exact character and bigram filters   the engine's default
    bk-buckets   a BK-tree whose leaves are buckets behind the same filters            the engine's second structure
    bk-plain     a BK-tree down to single words
    scan         rapidfuzz over the whole vocabulary

Words are drawn from syllables with a skewed choice, 2 to 16 characters, one in twenty in Chinese or Cyrillic;
queries are words of the vocabulary with one or two random edits. The methods take turns query by query, so that a busy
machine slows all of them alike; figures are medians of process CPU time, and all answers are compared.
"""

from __future__ import annotations

import hashlib
import random
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

from benches.report import REPOSITORY, Cell, environment, print_environment, print_table, write_json
from memhop.index.bk_tree import BkTree
from memhop.index.fuzzy import FuzzyIndex, allowed_distance

SEED = 20_240_508
SIZES = (1_000, 10_000, 100_000)
QUERIES = 60
_ONSETS = "b c d f g h j k l m n p r s t v w z br ch cl cr dr fl gr pl pr sh sl st str th tr".split()
_RIMES = "a e i o u ai ea ee ou an en in on un ar er or al el ing ion ent est ate ous ish".split()
_OTHER = ("北京上海广州深圳天气电影音乐工作学习旅行朋友", "абвгдежзиклмнопрстуфхцчшщыьэюя")

Answers = list[tuple[str, int]]


def vocabulary(size: int, generator: random.Random) -> list[str]:
    """`size` distinct words."""
    words: dict[str, None] = {}
    while len(words) < size:
        if generator.random() < 0.05:
            alphabet = generator.choice(_OTHER)
            word = "".join(generator.choice(alphabet) for _ in range(generator.randint(2, 6)))
        else:
            count = generator.choice((1, 2, 2, 2, 3, 3, 4))
            word = "".join(_skewed(_ONSETS, generator) + _skewed(_RIMES, generator) for _ in range(count))[:16]
        words[word] = None
    return list(words)


def misspelt(word: str, generator: random.Random) -> str:
    """The word after one or two random edits."""
    for _ in range(generator.choice((1, 1, 2))):
        at = generator.randrange(len(word))
        kind = generator.choice(("insert", "delete", "substitute", "swap"))
        if kind == "insert":
            word = word[:at] + generator.choice("aeinorst") + word[at:]
        elif kind == "delete" and len(word) > 2:
            word = word[:at] + word[at + 1 :]
        elif kind == "substitute":
            word = word[:at] + generator.choice("aeinorst") + word[at + 1 :]
        elif at + 1 < len(word):
            word = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    return word


def measure(size: int) -> dict[str, dict[str, float]]:
    """Build and query times of all four at one size.

    Raises:
        AssertionError: two methods disagree.
    """
    generator = random.Random(SEED + size)
    words = vocabulary(size, generator)
    queries = [misspelt(word, generator) for word in generator.sample(words, QUERIES)]
    build_ms: dict[str, float] = {}

    def built(name: str, build: Callable[[], FuzzyIndex | BkTree]) -> FuzzyIndex | BkTree:
        start = time.process_time()
        index = build()
        build_ms[name] = round((time.process_time() - start) * 1e3, 1)
        return index

    signatures = built("signatures", lambda: FuzzyIndex(words))
    buckets = built("bk-buckets", lambda: FuzzyIndex(words, "bk-tree"))
    plain = built("bk-plain", lambda: BkTree(words, bucket=1))
    assert isinstance(signatures, FuzzyIndex)
    assert isinstance(buckets, FuzzyIndex)
    assert isinstance(plain, BkTree)
    methods: dict[str, Callable[[str], Answers]] = {
        "signatures": signatures.matches,
        "bk-buckets": buckets.matches,
        "bk-plain": lambda term: _measured(term, plain.candidates(term, allowed_distance(term))),
        "scan": lambda term: _scan(term, words),
    }
    times: dict[str, list[float]] = {name: [] for name in methods}
    found = 0
    for number, query in enumerate(queries):
        names = list(methods)
        names = names[number % 4 :] + names[: number % 4]
        answers = []
        for name in names:
            start = time.process_time()
            answers.append(methods[name](query))
            times[name].append(time.process_time() - start)
        assert all(answer == answers[0] for answer in answers), f"{query!r} at {size}"
        found += len(answers[0])
    return {
        "matches": {"mean": round(found / QUERIES, 2)},
        "build_ms": build_ms,
        "query_us": {name: round(statistics.median(values) * 1e6, 1) for name, values in times.items()},
    }


def main(target: str | None = None) -> None:
    """Measure, print a table, and write the figures as JSON."""
    data = "\n".join(word for size in SIZES for word in vocabulary(size, random.Random(SEED + size)))
    env = environment(seed=SEED, data_sha256=hashlib.sha256(data.encode()).hexdigest())
    print_environment(env)
    results = [measure(size) for size in SIZES]
    for title, figures in (("query, microseconds of CPU, median", "query_us"), ("build, ms of CPU", "build_ms")):
        rows: list[list[Cell]] = [
            [str(size), *result[figures].values()] for size, result in zip(SIZES, results, strict=True)
        ]
        print_table(title, ["words", *results[0][figures]], rows)
    path = Path(target) if target else REPOSITORY / "benches" / "results" / "fuzzy.json"
    write_json(path, env, {str(size): result for size, result in zip(SIZES, results, strict=True)})
    print(f"\nwritten to {path}")


def _skewed(items: list[str], generator: random.Random) -> str:
    return items[min(int(generator.expovariate(6 / len(items))), len(items) - 1)]


def _scan(term: str, words: list[str]) -> Answers:
    from rapidfuzz.distance import OSA
    from rapidfuzz.process import extract

    distance = allowed_distance(term)
    found = extract(term, words, scorer=OSA.distance, score_cutoff=distance, limit=None)
    return sorted(((word, int(apart)) for word, apart, _ in found), key=lambda match: (match[1], match[0]))


def _measured(term: str, candidates: list[str]) -> Answers:
    from rapidfuzz.distance import OSA

    distance = allowed_distance(term)
    found = [(word, OSA.distance(term, word, score_cutoff=distance)) for word in candidates]
    kept = [(word, apart) for word, apart in found if apart <= distance]
    return sorted(kept, key=lambda match: (match[1], match[0]))


if __name__ == "__main__":
    main(*sys.argv[1:2])
