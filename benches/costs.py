"""What a call costs in requests to models and in tokens, counted at a model service on loopback.

    python -m benches.costs [--write]

Each public call that can reach a model is made once, on a memory of twelve turns with replies, opened in four ways:
without a model, with an embedder (all turns have their vectors), with a chat model, and with a chat model that is
asked while turns are stored. The service counts a token for four bytes. The table stands in INTEGRATION_GUIDE.md;
`--write` puts it there, and a test compares the two.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import memhop
from memhop.common.clock import ManualClock
from tests.support.model_server import Asked, ModelServer, model_server

GUIDE = Path(__file__).resolve().parent.parent / "INTEGRATION_GUIDE.md"
BEGIN, END = "<!-- costs:begin -->", "<!-- costs:end -->"
NOW = 1_780_000_000_000
MINUTE = 60_000
WAYS = ("no model", "embedder", "llm", "llm_on_write")
TURNS = (
    "The greenhouse needs a new thermostat, the old one switches off at night and the orchids suffer.",
    "Which thermostat fits the greenhouse: the one from Lund with a probe, or the cheap one?",
    "I ordered the Lund thermostat, it arrives on Friday and costs 89 euros.",
    "Can you remind me to move the orchids away from the greenhouse door?",
    "The ferry to Gotland leaves at seven, we need to be at the harbour by six.",
    "Book the cabin on the ferry to Gotland for four people and a dog, please.",
)
REPLY = "Noted. I will keep that in mind and come back to it when it matters."


class Cost(NamedTuple):
    """Requests for vectors and the texts in them, requests to the chat model, and its tokens in and out."""

    embedding: int
    texts: int
    chat: int
    prompt: int
    completion: int

    def __str__(self) -> str:
        told = []
        if self.embedding:
            told.append(f"{self.embedding} embedding of {self.texts} text{'s' if self.texts > 1 else ''}")
        if self.chat:
            told.append(f"{self.chat} chat, {self.prompt:,} + {self.completion:,} tokens")
        return "; ".join(told) or "0"


class Memory(NamedTuple):
    db: memhop.DB
    topic: str
    note: str


CALLS: dict[str, Callable[[Memory], Any]] = {
    "db.search": lambda m: m.db.search("Does the thermostat of the greenhouse work again?", NOW, session="s"),
    "db.update": lambda m: m.db.update(m.topic, REPLY, NOW),
    "db.recall": lambda m: m.db.recall("which thermostat did I order?"),
    "db.why_not": lambda m: m.db.why_not(m.note, "which thermostat did I order?"),
    "db.remember": lambda m: m.db.remember("the orchids are watered on Mondays"),
    "db.remember_many": lambda m: m.db.remember_many(["the dog is called Pixel", "the cabin has four beds"]),
    "db.archive.append_many": lambda m: m.db.archive.append_many([{"text": "It rained.", "session": "t"}]),
    "db.facts.assert_": lambda m: m.db.facts.assert_("Ann", "lives in", "Lund"),
    "db.knowledge.put": lambda m: m.db.knowledge.put("plants", "orchid", "needs shade"),
    "db.forget": lambda m: m.db.forget(m.note, hard=True),
    "db.topics.refine": lambda m: m.db.topics.refine(m.topic),
    "db.crystallize": lambda m: m.db.crystallize("s"),
    "db.dream": lambda m: m.db.dream(),
    "db.backfill": lambda m: m.db.backfill(),
    "db.checkpoint": lambda m: m.db.checkpoint(),
}


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benches.costs", description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help=f"put the table into {GUIDE.name}")
    options = parser.parse_args(argv)
    found = table()
    print(found)
    if options.write:
        text = GUIDE.read_text("utf-8")
        block = f"{BEGIN}\n{found}\n{END}"
        GUIDE.write_text(re.sub(f"{BEGIN}.*?{END}", lambda _: block, text, flags=re.DOTALL), "utf-8")
    return 0


def table() -> str:
    """The table, in Markdown."""
    costs = {way: {name: measure(name, way) for name in CALLS} for way in WAYS}
    lines = ["| call | " + " | ".join(WAYS) + " |", "|---" * (1 + len(WAYS)) + "|"]
    lines += [f"| `{name}` | " + " | ".join(str(costs[way][name]) for way in WAYS) + " |" for name in CALLS]
    return "\n".join(lines)


def measure(call: str, way: str) -> Cost:
    """What one call costs on a fresh memory. A call that this way of opening has nothing for costs nothing."""
    with model_server(_reply) as server, _memory(server, way) as memory:
        if way == "embedder" and call != "db.backfill":
            memory.db.backfill()  # where nothing has a vector no question needs one
        before = _cost(server)
        try:
            CALLS[call](memory)
        except memhop.ConfigError:
            assert call == "db.backfill"  # nothing to fill with
        return Cost(*(now - then for now, then in zip(_cost(server), before, strict=True)))


def _cost(server: ModelServer) -> Cost:
    embedding = [asked for asked in server.asked if "embed" in asked.path]
    texts = sum(len(asked.body["input"]) for asked in embedding)
    return Cost(len(embedding), texts, server.calls, server.prompt_tokens, server.completion_tokens)


@contextmanager
def _memory(server: ModelServer, way: str) -> Iterator[Memory]:
    embedder = memhop.OpenAIEmbedder("stub", base_url=server.url) if way == "embedder" else None
    llm = memhop.OpenAIChat("stub", base_url=server.url, api_key="none") if way.startswith("llm") else None
    with (
        tempfile.TemporaryDirectory() as folder,
        memhop.DB.open(
            Path(folder) / "a.meh",
            embedder=embedder,
            llm=llm,
            llm_on_write=way == "llm_on_write",
            clock=ManualClock(NOW),
            durability="none",
        ) as db,
    ):
        topic = ""
        for number, text in enumerate(TURNS * 2):
            at = NOW - 600 * MINUTE + number * 2 * MINUTE
            topic = db.search(text, at, session="s", token_budget=0).new_topic_id
            db.update(topic, REPLY, at + MINUTE)
        for step in ("read_file", "edit_file", "run_tests") * 3:
            db.trajectory.append("s", "tool", f'{{"tool": "{step}"}}')
        yield Memory(db, topic, db.remember("the key of the greenhouse hangs by the door").id)


def _reply(asked: Asked) -> dict[str, Any]:
    """A reply to a task that is as short as it can be and does: a keyword to each text, and nothing else."""
    (key,) = asked.schema["properties"]
    if key != "items":
        return {key: []}
    texts = re.findall(r"\[(m\d+)[^\]]*\][^\n]*\n<<[^\n]*\n\W*(\w+)", asked.user)
    return {"items": [{"id": label, "keywords": [word]} for label, word in texts]}


if __name__ == "__main__":
    sys.exit(main())
