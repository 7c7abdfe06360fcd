"""The table of what calls cost is what is counted, and what is said to be free asks nobody."""

from __future__ import annotations

import re

from benches import costs

TOKENS = re.compile(r"([\d,]+) \+ ([\d,]+) tokens")


def test_the_table_in_the_guide_is_what_is_counted() -> None:
    """If this fails, something asks a model more or less often, or for more, than it did: `benches.costs --write`.

    Requests are compared exactly, tokens to a fifth, so that a word in a prompt may change.
    """
    guide = costs.GUIDE.read_text("utf-8")
    stated = guide.partition(costs.BEGIN)[2].partition(costs.END)[0].strip()
    counted = costs.table()
    assert TOKENS.sub("tokens", stated) == TOKENS.sub("tokens", counted)
    for said, found in zip(TOKENS.findall(stated), TOKENS.findall(counted), strict=True):
        for one, other in zip(said, found, strict=True):
            one, other = (int(text.replace(",", "")) for text in (one, other))
            assert abs(one - other) <= 0.2 * max(one, other), (said, found)
    rows = [line.split(" | ") for line in stated.splitlines()[2:]]
    assert all(row[1] == "0" for row in rows), "without a model nobody is asked"
    assert any("chat" in row[3] for row in rows), "the chat model was never reached"
    assert any("embedding" in row[2] for row in rows), "the embedder was never reached"
