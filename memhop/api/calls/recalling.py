"""`recall` and `why_not`: questions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from memhop.api.calls.handle import Handle

if TYPE_CHECKING:
    from memhop.api import results


class Recalling(Handle):
    """Calls that ask."""

    def recall(
        self,
        query: str,
        *,
        limit: int = 10,
        token_budget: int = 2000,
        layers: Iterable[str] | None = None,
        project: str | Iterable[str] | None = None,
        kinds: Iterable[str] | None = None,
        tags: Iterable[str] | None = None,
        roles: Iterable[str] | None = None,
        speakers: Iterable[str] | None = None,
        session: str | None = None,
        scene: str | None = None,
        since: object = None,
        until: object = None,
        tier: str = "active",
        at: object = None,
        fusion: str = "zscore",
        explain: bool = False,
    ) -> results.Recall:
        """What bears on a question. Writes nothing.

        Args:
            query: Any string, any language. A blank one finds nothing and says so.
            limit: Most hits to return, 1..1000.
            token_budget: Room for `context`, in tokens (4 Latin letters or 1 Han character count as one), 0..100,000.
            layers: Any of messages, notes, topics, knowledge, capabilities. None: all.
            project: A project or several. None: all.
            kinds: Kinds of notes, types of knowledge nodes, "fact". None: all.
            tags: Notes that have all of these tags. None: no matter.
            roles: Of messages: user, agent, system, tool. None: all.
            speakers: Of messages, by name, case ignored. None: all.
            session: One session's messages.
            scene: One scene's messages and topics, by id.
            since, until: Half-open span [since, until) of a unit's time; int ms or aware datetime.
            tier: active, archived or trashed.
            at: When the question is asked, for words such as "last week". None: now.
            fusion: How channels are combined inside a layer: "zscore" or "rrf".
            explain: Also fill `explanation`: terms with their weights, expansions, time windows, settings.

        Raises:
            InvalidRequest: an argument does not do; `field` and `allowed` say which and why.

        Cost: grows with the number of units that hold the query's words; 1 ms at 1,000 units without a model.
        """
        from memhop.api.reading import recall
        from memhop.search.query import Request

        return recall(
            self._recaller,
            Request(
                text=query,
                limit=limit,
                token_budget=token_budget,
                layers=layers,
                project=project,
                kinds=kinds,
                tags=tags,
                roles=roles,
                speakers=speakers,
                session=session,
                scene=scene,
                since=since,
                until=until,
                tier=tier,
                at=at,
                fusion=fusion,
                explain=explain,
            ),
        )

    def why_not(self, id: str, query: str, **filters: Any) -> results.Explanation:
        """Why a unit was not among the hits of `recall(query, **filters)`, or at which place it was.

        Args:
            id: Of a message, note, topic, knowledge node, fact or card.
            query, filters: As for `recall`.

        Raises:
            NotFound: no record has this id.
        """
        from memhop.api.reading import why_not
        from memhop.search.query import Request

        return why_not(self._recaller, id, Request(text=query, **filters))

    def usage(self, id: str) -> results.Usage:
        """How often a scene, a note or a card was recalled: what feeds the decay of associations and a small prior.

        A recall counts once for each of its first three hits: of a message or topic, for its scene. Counting is
        buffered, recall itself writes nothing; counters are written with the next commit and at close.

        Raises:
            NotFound: no scene, note or card has this id.
        """
        from memhop.api.reading import usage

        return usage(self._store, id)
