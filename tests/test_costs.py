"""The table of what calls cost is what is counted, and what is said to be free asks nobody."""

from __future__ import annotations

from benches import costs


def test_the_table_in_the_guide_is_what_is_counted() -> None:
    """If this fails, something asks a model more or less often than it did: `python -m benches.costs --write`."""
    guide = costs.GUIDE.read_text("utf-8")
    stated = guide.partition(costs.BEGIN)[2].partition(costs.END)[0].strip()
    assert stated == costs.table()
    rows = [line.split(" | ") for line in stated.splitlines()[2:]]
    assert all(row[1] == "0" for row in rows), "without a model nobody is asked"
    assert any("chat" in row[3] for row in rows), "the chat model was never reached"
    assert any("embedding" in row[2] for row in rows), "the embedder was never reached"
