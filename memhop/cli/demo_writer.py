"""The process that the demo kills: it stores turn after turn and tells each one once it is durable.

    python -m memhop.cli.demo_writer FILE

Each line of its output is a turn's number and the id of its message, written after the call that stored it returned.
"""

from __future__ import annotations

import os
import sys

from memhop import DB
from memhop.cli.demo_data import demo_clock, load_turns, store_turn


def main() -> None:
    """Store all turns; the demo does not let it come that far."""
    topic_id = ""
    with DB.open(sys.argv[1], purpose="memhop demo writer", clock=demo_clock()) as db:
        for number, turn in enumerate(load_turns()):
            message_id, topic_id = store_turn(db, turn, topic_id)
            os.write(sys.stdout.fileno(), f"{number} {message_id}\n".encode("ascii"))


if __name__ == "__main__":
    main()
