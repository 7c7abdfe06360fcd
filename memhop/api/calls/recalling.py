"""`recall` and `why_not`: questions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from memhop.api.calls.handle import Handle
from memhop.common.config import check_flag
from memhop.common.errors import InvalidRequest

if TYPE_CHECKING:
    from memhop.api import results
    from memhop.search.query import Request


class Recalling(Handle):
    """Calls that ask."""

    def recall(
        self,
        query: str,
        *,
        limit: int | None = None,
        token_budget: int | None = None,
        layers: Iterable[str] | None = None,
        project: str | Iterable[str] | None = None,
        kinds: Iterable[str] | None = None,
        statuses: Iterable[str] | None = None,
        tags: Iterable[str] | None = None,
        roles: Iterable[str] | None = None,
        speakers: Iterable[str] | None = None,
        session: str | None = None,
        scene: str | None = None,
        since: object = None,
        until: object = None,
        tier: str | Iterable[str] = "active",
        universal: bool = True,
        at: object = None,
        fusion: str = "zscore",
        alpha: float | None = None,
        explain: bool = False,
    ) -> results.Recall:
        """What bears on a question. Writes nothing.

        Args:
            query: Any string, any language. A blank one finds nothing and says so.
            limit: Most hits to return, 1..1000. None: `recall.limit` of the config, 10 by default.
            token_budget: Room for `context`, in tokens (4 Latin letters or 1 Han character count as one), 0..100,000.
                None: `recall.token_budget` of the config, 2000 by default.
            layers: Any of messages, notes, topics, knowledge, capabilities. None: all.
            project: A project or several. None: all.
            kinds: Kinds of notes, types of knowledge nodes, "fact". None: all.
            statuses: Of notes, exact: those that have one of these. None: no matter.
            tags: Notes that have all of these tags. None: no matter.
            roles: Of messages: user, agent, system, tool. None: all.
            speakers: Of messages, by name, case ignored. None: all.
            session: One session's messages.
            scene: One scene's messages and topics, by id.
            since, until: Half-open span [since, until) of a unit's time; int ms or aware datetime.
            tier: active, archived or trashed, several of them, or "all".
            universal: Where `project` is given, and no session or scene, also look in the project that
                `recall.universal` of the config names ("universal"). Its hits are marked; they take a quarter of the
                places at most, and what the others leave free.
            at: When the question is asked, for words such as "last week". None: now.
            fusion: How channels are combined inside a layer: "zscore" or "rrf".
            alpha: 0..1, how much vectors count (pooled and late together), and words 1 - alpha, in place of the
                measured weights; 0 and 1 leave the other ones out. None: the measured weights.
            explain: Also fill `explanation`: terms with their weights, expansions, time windows, settings.

        Raises:
            InvalidRequest: an argument does not do; `field` and `allowed` say which and why.

        Cost: grows with the number of units that hold the query's words; 1 ms at 1,000 units without a model.
        """
        from memhop.api.reading import recall

        return recall(
            self._recaller,
            self._request(
                query,
                limit=limit,
                token_budget=token_budget,
                layers=layers,
                project=project,
                kinds=kinds,
                statuses=statuses,
                tags=tags,
                roles=roles,
                speakers=speakers,
                session=session,
                scene=scene,
                since=since,
                until=until,
                tier=tier,
                universal=universal,
                at=at,
                fusion=fusion,
                alpha=alpha,
                explain=explain,
            ),
        )

    def why_not(self, id: str, query: str, **filters: Any) -> results.Explanation:
        """Why a unit was not among the hits of `recall(query, **filters)`, or at which place it was.

        Args:
            id: Of a message, note, topic, knowledge node, fact or card.
            query, filters: As for `recall`.

        Raises:
            NotFound: no record has this id. InvalidRequest: an argument does not do, or `recall` has none of the name.
        """
        from memhop.api.reading import why_not

        return why_not(self._recaller, id, self._request(query, **filters))

    def _request(
        self,
        query: str,
        *,
        limit: int | None = None,
        token_budget: int | None = None,
        universal: bool = True,
        **others: Any,
    ) -> Request:
        """The arguments of `recall` with what the config says."""
        from memhop.search.query import Request

        config = self._config.recall
        unknown = sorted(set(others) - set(Request._fields) | {"text", "graph"} & set(others))
        if unknown:
            raise InvalidRequest("no such argument", field=unknown[0], allowed="the arguments of `recall`")
        return Request(
            text=query,
            limit=config.limit if limit is None else limit,
            token_budget=config.token_budget if token_budget is None else token_budget,
            universal=config.universal if check_flag(universal, field="universal") else "",
            **others,
        )

    def brief(self, project: str | None = None, *, decisions: int | None = None) -> results.Brief:
        """Where everything stands, to begin a session with: per project the newest summary, open items, decisions and
        counts. Writes nothing.

        Args:
            project: Only this one; if nobody has heard of it, there are zeros. None: all, by name.
            decisions: Most decisions told per project, 0..100. None: `summary.decisions` of the config, 3 by default.

        Raises:
            InvalidRequest: an argument does not do.

        Cost: reads a few notes for each project, kind and status, whatever the number of notes.
        """
        from memhop.api.brief import brief

        return brief(self, project, decisions)

    def usage(self, id: str) -> results.Usage:
        """How often a scene, a note or a card was recalled: what feeds the decay of associations and a small prior.

        A recall counts once for each of its first three hits: of a message or topic, for its scene. Counting is
        buffered, recall itself writes nothing; counters are written with the next commit and at close.

        Raises:
            NotFound: no scene, note or card has this id.
        """
        from memhop.api.reading import usage

        return usage(self._store, id)

    def lookup(self, prefix: str, *, kinds: Iterable[str] | None = None, limit: int = 20) -> tuple[results.Named, ...]:
        """The things whose ids begin with some digits, by id; none or several, too.

        Args:
            prefix: 6 to 16 hex digits.
            kinds: Any of note, message, scene, topic, graph, node, edge, fact, card, step. None: all.
            limit: Most, 1..1000.

        Raises:
            InvalidRequest: an argument does not do.

        Cost: looks at every id of these kinds, 0.1 us each.
        """
        from memhop.api.naming import lookup

        return lookup(self._store, prefix, kinds, limit)

    def about(self, id: str, *, query: str | None = None, **filters: Any) -> results.About:
        """Everything about one thing: its words, where it comes from, what it is linked to, its history, its vectors.

        Args:
            id: Of a note, message, scene, topic, graph, node, edge, fact, card or step.
            query, filters: As for `why_not`: also say whether recall would find it, and why not.

        Raises:
            NotFound: nothing has this id, or it is damaged. InvalidRequest: an argument does not do.

        Cost: reads what is told, and the journals of dreams and imports.
        """
        from memhop.api.about import about

        return about(self._store, id, None if query is None else self.why_not(id, query, **filters))
