"""Keeping the messages of a foreign format: word for word, each once, in the order they come. A dream places them."""

from __future__ import annotations

from memhop.api.import_context import NO_TIME, BadItem, Context, known
from memhop.api.import_journal import Step
from memhop.common.config import check_choice, check_name, check_project, check_text
from memhop.common.ids import key_hash, to_hex
from memhop.readers.item import MessageItem
from memhop.repo.l4_archive import Message, external_message
from memhop.search.mentions import spans

TITLES = "titles of conversations are not kept"
_ROLES = ("user", "agent", "system", "tool")


class MessageKeeper:
    """Keeps messages. One that was said at the same time in the same session in the same words is the same."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._titled: set[int] = set()

    def keep(self, step: Step, item: MessageItem) -> None:
        """Keep a message. Raises BadItem, InvalidRequest."""
        if item.session_title and (session_key := key_hash(item.session)) not in self._titled:
            self._titled.add(session_key)
            self._context.tally.remarks[TITLES] += 1
        text = check_text(item.text, field="text")
        role = check_choice(item.role, field="role", choices=_ROLES)
        session = self._context.name_of(item.session)
        external_id = self._context.external_id(item.source_id)
        found = known(step, external_message(session, external_id), Message)
        there = found[0] if found else None
        if there is None and item.at:
            same = step.batch.find(Message, key_hash("message", session, item.at, item.speaker, text))
            there = (
                same if same is not None and (same.session, same.at, same.text) == (session, item.at, text) else None
            )
        if there is not None:
            if there.text.strip() != text.strip():
                raise BadItem(f"message {to_hex(there.id)} came from the same place and says something else")
            self._context.tally.unchanged += 1
            return
        at = self._context.time(item.at, "at")
        message = Message(
            text=text,
            role=role,
            speaker=check_name(item.speaker, field="speaker", blank=True),
            at=at,
            session=session,
            project=check_project(self._context.project or item.project),
            external_id=external_id,
            spans=spans(text, at),
            redacted=self._context.redacted,
        )
        stored = step.new(message, session, at, item.speaker, text)
        step.pending[external_message(session, external_id)] = stored
        if not item.at:
            self._context.tally.remarks[NO_TIME] += 1
        self._context.tally.created += 1
