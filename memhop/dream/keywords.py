"""Stage "keywords": turns that have keywords by the offline method get them by a model. Nothing to do without one.

Each turn is asked about once: what the model finds nothing for, or nothing that is in the text, keeps the keywords it
has, and is marked as seen. A reply that cannot be used at all leaves its turns for another dream.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import msgspec

from memhop.common.errors import ChatError
from memhop.common.ids import to_hex
from memhop.dream.stage import Change
from memhop.models import tasks
from memhop.models.material import UNUSABLE, Answer, Said
from memhop.repo.l2_context import UNREFINED, Topic, topics_of
from memhop.repo.l4_archive import Message

if TYPE_CHECKING:
    from memhop.dream.stage import Desk
    from memhop.models.chat import ChatModel

BATCH_TEXTS: Final = 10  # asked about at once
PATIENCE: Final = 3  # unusable replies in a row after which the model is left alone
_NAME_CHARS: Final = 80  # of a model, as it is noted


class Turn:
    """A topic, its readable messages, and what is asked about: what the user said, and the replies as one text."""

    def __init__(self, desk: Desk, topic: Topic) -> None:
        self.topic = topic
        found = (desk.store.readable(Message, id_) for id_ in topic.messages)
        self.messages = tuple(message for message in found if message is not None)
        self.user = _said([message for message in self.messages if message.role == "user"])
        self.agent = _said([message for message in self.messages if message.role != "user"])
        self.texts = [said for said in (self.user, self.agent) if said]

    def refined(self, name: str, found: dict[str, tuple[str, ...]]) -> Change:
        """With the keywords that were found; where none were, those it had."""
        topic = msgspec.structs.replace(
            self.topic,
            user_keywords=found.get(self.user.id if self.user else "", self.topic.user_keywords),
            agent_keywords=found.get(self.agent.id if self.agent else "", self.topic.agent_keywords),
            refined_by=name[:_NAME_CHARS] or "model",
        )
        return Change("topic", f"keywords by {topic.refined_by}", reads=(self.topic, *self.messages), puts=(topic,))


class Keywords:
    """See the module."""

    name = "keywords"

    def plan(self, desk: Desk) -> Iterator[Change]:
        """Changes of turns, oldest first. Raises nothing: a model that fails ends the stage, and is named."""
        failures = 0
        for batch in _batches(desk):
            if desk.chat is None or desk.stopping():
                return
            desk.looked_at(len(batch))
            try:
                answer = _ask(desk.chat, batch)
            except ChatError as error:
                desk.skip(f"model: {error.message}", len(batch))
                return
            for reason, count in sorted(answer.refused.items()):
                desk.skip(reason, count)
            unusable = answer.refused[UNUSABLE] > 0
            for turn in batch:
                if not unusable or any(said.id in answer.value for said in turn.texts):
                    yield turn.refined(desk.chat.name, answer.value)
            failures = failures + 1 if unusable else 0
            if failures == PATIENCE:
                desk.skip("model: too many unusable replies", 1)
                return


def _ask(chat: ChatModel, batch: list[Turn]) -> Answer[dict[str, tuple[str, ...]]]:
    return tasks.keywords(chat, [said for turn in batch for said in turn.texts])


def _batches(desk: Desk) -> Iterator[list[Turn]]:
    batch: list[Turn] = []
    for topic in _unrefined(desk):
        batch.append(Turn(desk, topic))
        if sum(len(turn.texts) for turn in batch) >= BATCH_TEXTS:
            yield batch
            batch = []
    if batch:
        yield batch


def _unrefined(desk: Desk) -> Iterator[Topic]:
    """Pages go on from a place, so that turns which leave the group meanwhile do not matter, nor those that stay."""
    for topic in desk.store.walk(Topic, topics_of(desk.scene) if desk.scene else UNREFINED):
        if any(listing.key == UNREFINED for listing in topic.listings()):
            yield topic


def _said(messages: list[Message]) -> Said | None:
    text = "\n".join(message.text for message in messages)
    return Said(to_hex(messages[0].id), messages[0].at, messages[0].speaker, text) if text.strip() else None
