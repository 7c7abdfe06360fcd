"""`search` and `update`: the turns of a conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memhop.api.calls.handle import Handle

if TYPE_CHECKING:
    from memhop.api import results
    from memhop.search.turn import OfflineWords


class Conversing(Handle):
    """The agent loop."""

    def search(
        self,
        text: str,
        timestamp: object = None,
        *,
        session: str | None = None,
        speaker: str | None = None,
        project: str | None = None,
        external_id: str | None = None,
        directed_l2_id: str | None = None,
        directed_l3_id: str | None = None,
        auto_create: bool = False,
        limit: int | None = None,
        token_budget: int | None = None,
    ) -> results.SearchResult:
        """One turn of the agent loop: recall what bears on the user's message, and store the message.

        Args:
            text: What the user said.
            timestamp: When; int ms or aware datetime. None: now.
            session: The host's name for the conversation. Turns of other sessions need clear evidence to join a scene.
            speaker: Who said it.
            project: Where it belongs, and what is looked in, with the universal project as by `recall`. None: it
                belongs to "default", and everything is looked in.
            external_id: The host's own name for the message in its session. A turn that is known by it is not stored
                again, so that a host may repeat a call whose answer it did not get.
            directed_l2_id: Put the turn into this scene. directed_l3_id: Look in this knowledge graph only, and link
                the topic to it. auto_create: Start a new scene without looking for one.
            limit, token_budget: As for `recall`.

        Returns:
            What was recalled, the scene with its topics, associated scenes, matching cards, and `new_topic_id`, to
            which `update` appends the reply. The turn is stored whether or not anything was found.

        Raises:
            InvalidRequest, NotFound: an argument does not do, or names nothing; nothing is written then.
        """
        from memhop.api.reading import search
        from memhop.search.turn import Turn

        config, guard = self._config.recall, self._guard
        said, redacted = guard.metadata(text, field="text", project=project)
        found = search(
            self._recaller,
            Turn(
                text=said,
                timestamp=timestamp,
                session=guard.given(session, field="session", project=project),
                speaker=guard.given(speaker, field="speaker", project=project),
                project=guard.given(project, field="project", project=project),
                external_id=guard.given(external_id, field="external_id", project=project),
                directed_l2_id=directed_l2_id,
                directed_l3_id=directed_l3_id,
                auto_create=auto_create,
                limit=config.limit if limit is None else limit,
                token_budget=config.token_budget if token_budget is None else token_budget,
                universal=config.universal,
                redacted=redacted,
            ),
            self._words,
        )
        self._said(found.scene_id)
        return found

    def update(
        self,
        topic_id: str,
        text: str,
        timestamp: object = None,
        *,
        role: str = "agent",
        speaker: str | None = None,
        external_id: str | None = None,
    ) -> results.Message:
        """Append a reply to a topic. Several replies are all kept, and each can be recalled.

        Args:
            topic_id: `new_topic_id` of the `search` that stored the user's message.
            text: What was said. timestamp: When; None: now.
            role: agent, user, system or tool. speaker: Who.
            external_id: The host's own name for the reply; one that is known by it is not stored again.

        Raises:
            NotFound: no topic has this id. InvalidRequest: an argument does not do.
        """
        from memhop.api import convert
        from memhop.search.turn import project_of, update

        store, guard = self._store, self._guard
        project = project_of(store, topic_id)
        said, redacted = guard.metadata(text, field="text", project=project)
        message = convert.message(
            update(
                store,
                topic_id=topic_id,
                text=said,
                timestamp=timestamp,
                role=role,
                speaker=guard.given(speaker, field="speaker", project=project),
                external_id=guard.given(external_id, field="external_id", project=project),
                words=self._words,
                redacted=redacted,
            )
        )
        self._said(message.scene_id)
        return message

    @property
    def _words(self) -> OfflineWords:
        """How the keywords of a turn are chosen."""
        if self._llm_on_write:
            return self._dreamer.words(self._open_store())
        from memhop.search.turn import OfflineWords

        return OfflineWords()

    def _said(self, scene_id: str | None) -> None:
        """A turn was stored: that may make a dream due."""
        if self._dreaming is not None and scene_id is not None:
            self._dreamer.said(self._open_store(), scene_id)
