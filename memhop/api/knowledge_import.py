"""What `knowledge.put` and `knowledge.import_` mean: nodes are known by graph and title, and changed by a mode.

skip        a node that is there stays as it is
merge       a type that is given replaces the old one, keywords are added, and of two contents the one that holds the
            other is kept, or both, the old one first; merging the same twice changes nothing
overwrite   type, content, keywords and reference are those given, or none
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from memhop.api import results
from memhop.api.namespace import bounded, check_total
from memhop.common.config import LIMITS, check_choice, check_name, check_names, check_text
from memhop.common.errors import InvalidRequest
from memhop.common.ids import to_hex
from memhop.repo import l3_knowledge
from memhop.repo.l3_knowledge import Graph, KnowledgeEdge, KnowledgeNode

if TYPE_CHECKING:
    from memhop.repo.batch import Batch
    from memhop.repo.store import Store

MODES: Final = ("skip", "merge", "overwrite")
_FIELDS = frozenset(("graph", "title", "content", "node_type", "keywords", "source_ref", "related"))


class NodeDraft(NamedTuple):
    """Checked parts of a node. `related` are titles of nodes in the same graph."""

    graph: str
    title: str
    content: str
    node_type: str
    keywords: tuple[str, ...]
    source_ref: str
    related: tuple[str, ...] = ()


def draft(values: Mapping[str, Any]) -> NodeDraft:
    """Check the parts of one node; absent ones are empty.

    Raises:
        InvalidRequest: a part does not do, or there is no such part.
    """
    if unknown := sorted(set(map(str, values)) - _FIELDS):
        raise InvalidRequest("no such part of a node", field=unknown[0], allowed=", ".join(sorted(_FIELDS)))
    content = values.get("content", "")
    return NodeDraft(
        graph=check_name(values.get("graph"), field="graph"),
        title=check_name(values.get("title"), field="title"),
        content="" if content == "" else check_text(content, field="content"),
        node_type=check_name(values.get("node_type", ""), field="node_type", blank=True),
        keywords=_names("keywords", values.get("keywords", ()), LIMITS.tags),
        source_ref=check_name(values.get("source_ref", ""), field="source_ref", blank=True),
        related=_names("related", values.get("related", ()), LIMITS.links),
    )


def _names(field: str, value: Any, most: int) -> tuple[str, ...]:
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping):
        value = list(value) if not isinstance(value, set | frozenset) else value
    return check_names(value, field=field, most=most)


def put(store: Store, wanted: NodeDraft) -> KnowledgeNode:
    """Write one node, in place of the one of its title."""
    with store.writing() as batch:
        writing = _Writing(store, batch, store.clock.now_ms())
        graph = writing.graph(wanted.graph)
        known = writing.node(graph, wanted.title)
        return writing.put(_node(graph, wanted, known, writing.now), known)


def import_nodes(store: Store, items: Iterable[Mapping[str, Any]], mode: str) -> results.Imported:
    """See `Knowledge.import_`."""
    check_choice(mode, field="mode", choices=MODES)
    given = list(bounded(items))
    drafts: dict[int, NodeDraft] = {}
    faults: list[results.ImportFault] = []
    for index, item in enumerate(given):
        try:
            if not isinstance(item, Mapping):
                raise InvalidRequest(f"a {type(item).__name__} is no item", field=None, allowed="a dict")
            drafts[index] = draft(item)
        except InvalidRequest as error:
            faults.append(_fault(index, item, error))
    check_total(text for wanted in drafts.values() for text in (wanted.title, wanted.content))
    with store.writing() as batch:
        importing = _Import(_Writing(store, batch, store.clock.now_ms()), mode)
        for index, wanted in drafts.items():
            try:
                importing.take(wanted)
            except InvalidRequest as error:
                faults.append(_fault(index, wanted._asdict(), error))
        for index, wanted in drafts.items():
            faults += [_fault(index, wanted._asdict(), error) for error in importing.relate(wanted)]
    return importing.report(sorted(faults, key=lambda fault: fault.index))


def _fault(index: int, item: Any, error: InvalidRequest) -> results.ImportFault:
    title = item.get("title") if isinstance(item, Mapping) else None
    shown = title[: LIMITS.name_chars] if isinstance(title, str) else None
    allowed = f" (allowed: {error.allowed})" if error.allowed else ""
    return results.ImportFault(index=index, title=shown, message=f"{error.message}{allowed}", field=error.field)


class _Writing:
    """Graphs and nodes of one commit, those written a moment ago found like any other."""

    def __init__(self, store: Store, batch: Batch, now: int) -> None:
        self.now = now
        self._store = store
        self._batch = batch
        self._graphs: dict[str, Graph] = {}
        self._nodes: dict[tuple[int, str], KnowledgeNode | None] = {}

    def graph(self, name: str) -> int:
        """The id of the graph of this name, which is created if there is none."""
        if name not in self._graphs:
            known = l3_knowledge.find_graph(self._store, name)
            created = Graph(name=name, created_at=self.now)
            self._graphs[name] = known or l3_knowledge.put_new(self._store, self._batch, created, name)
        return self._graphs[name].id

    def node(self, graph: int, title: str) -> KnowledgeNode | None:
        """The node of this title."""
        if (graph, title) not in self._nodes:
            self._nodes[graph, title] = l3_knowledge.find_node(self._store, graph, title)
        return self._nodes[graph, title]

    def put(self, node: KnowledgeNode, known: KnowledgeNode | None) -> KnowledgeNode:
        """Write a node in place of the one that is known."""
        if known is not None:
            stored = self._batch.put(node, known.id)
        else:
            stored = l3_knowledge.put_new(self._store, self._batch, node, node.graph, node.title)
        self._nodes[node.graph, node.title] = stored
        return stored

    def relate(self, graph: int, one: int, other: int) -> int | None:
        """Write that two nodes are related, unless an edge says so. Returns the id of a new edge."""
        nodes = l3_knowledge.in_order("related", (one, other))
        edge = KnowledgeEdge(graph=graph, relation="related", nodes=nodes, created_at=self.now, updated_at=self.now)
        if l3_knowledge.find_edge(self._store, edge) is not None:
            return None
        stored = l3_knowledge.put_new(self._store, self._batch, edge, *edge.key)
        return stored.id


class _Import:
    """One import under way."""

    def __init__(self, writing: _Writing, mode: str) -> None:
        self._writing = writing
        self._mode = mode
        self._created: dict[int, None] = {}
        self._updated: dict[int, None] = {}
        self._unchanged: dict[int, None] = {}
        self._edges: dict[int, None] = {}
        self._skipped = 0
        self._taken: set[tuple[int, str]] = set()
        self._pairs: set[tuple[int, ...]] = set()

    def take(self, wanted: NodeDraft) -> None:
        """Write a node as the mode says. Raises InvalidRequest: what it would become is too much."""
        graph = self._writing.graph(wanted.graph)
        known = self._writing.node(graph, wanted.title)
        if known is None:
            stored = self._writing.put(_node(graph, wanted, None, self._writing.now), None)
            self._created[stored.id] = None
        elif self._mode == "skip":
            self._skipped += 1
            return
        else:
            if self._mode == "merge":
                wanted = _merged(known, wanted)
            node = _node(graph, wanted, known, self._writing.now)
            if msgspec.structs.replace(node, id=known.id, updated_at=known.updated_at) != known:
                self._writing.put(node, known)
                if known.id not in self._created:
                    self._updated[known.id] = None
            elif not {known.id} & (self._created.keys() | self._updated.keys()):
                self._unchanged[known.id] = None
        self._taken.add((graph, wanted.title))

    def relate(self, wanted: NodeDraft) -> Iterator[InvalidRequest]:
        """Write the edges of an item that was taken; gives what is wrong with them."""
        if not wanted.related:
            return
        graph = self._writing.graph(wanted.graph)
        node = self._writing.node(graph, wanted.title)
        if (graph, wanted.title) not in self._taken or node is None:
            return
        for title in wanted.related:
            other = self._writing.node(graph, title)
            if other is None or other.id == node.id:
                what = "it is related to itself" if other else f"no node of the graph has the title {title!r}"
                yield InvalidRequest(what, field="related", allowed="titles of other nodes in the same graph")
                continue
            pair = l3_knowledge.in_order("related", (node.id, other.id))
            if pair not in self._pairs:
                self._pairs.add(pair)
                edge = self._writing.relate(graph, *pair)
                if edge is not None:
                    self._edges[edge] = None

    def report(self, faults: list[results.ImportFault]) -> results.Imported:
        unchanged = self._unchanged.keys() - self._updated.keys()
        return results.Imported(
            created_ids=tuple(map(to_hex, self._created)),
            updated_ids=tuple(map(to_hex, self._updated)),
            unchanged_ids=tuple(to_hex(id_) for id_ in self._unchanged if id_ in unchanged),
            edge_ids=tuple(map(to_hex, self._edges)),
            skipped=self._skipped,
            errors=tuple(faults),
        )


def _node(graph: int, wanted: NodeDraft, known: KnowledgeNode | None, now: int) -> KnowledgeNode:
    return KnowledgeNode(
        graph=graph,
        title=wanted.title,
        content=wanted.content,
        node_type=wanted.node_type,
        keywords=wanted.keywords,
        created_at=known.created_at if known else now,
        updated_at=now,
        source_ref=wanted.source_ref,
    )


def _merged(known: KnowledgeNode, wanted: NodeDraft) -> NodeDraft:
    content = known.content
    if content in wanted.content:
        content = wanted.content
    elif wanted.content not in content:
        content = check_text(f"{content}\n{wanted.content}", field="content")
    keywords = (*known.keywords, *wanted.keywords)
    return wanted._replace(
        content=content,
        node_type=wanted.node_type or known.node_type,
        keywords=check_names(keywords, field="keywords", most=LIMITS.tags),
        source_ref=wanted.source_ref or known.source_ref,
    )
