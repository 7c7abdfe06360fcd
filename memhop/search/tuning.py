"""What ranks a recall: every weight, with its unit and how it was chosen.

Chosen on the development half of LoCoMo as a whole (five conversations, 997 questions), as round numbers on plateaus:
halving or doubling any of them but the kernel moves the mean of recall@5, @10 and @20 by less than half a point.
Weights of notes: on the observations of the same conversations as isolated notes, where the data leave the semantic
weight open between 0.25 and 2, and on questions that share no word with their note, which need the larger one.
What reads the best candidates again: on the packs of look-alikes and present values as far as not held, within
what the observations bear, which a larger `current` or `states` costs first places. Of turns only `current`, on the
pack of contradictions as far as not held: from 0.5 to 0.85 alike there, with less of it fewer new states come first;
LoCoMo, which asks for none, loses 1.2 points of recall@1 and next to nothing of recall@5, @10 and @20.
`told` of both kinds: on the development half of the pack of relations, from 0.15 to 0.5 and from 0.4 to 0.6 alike.
`rare_tokens`: on the same, from 0.6 to 0.8 alike; 1 loses a point of recall@5 on notes, 0 as much of recall@1.
`feedback`: on LoCoMo and on observations, with a static model that fails at each question: half a point of recall@1 of
turns less, 0.2 of recall@20 more; of notes recall@10 gains 0.9 (observations) and 2.6 (the pack of notes, as far as not
held).
`association`: after a dream, on the same; 0.05 is the most that costs none of recall@5 to @20 with no model or a static
one. It gives little: a tenth of a point of recall@50, and in the agent loop 0.7 of multi-hop questions' recall@10.
Weights with a contextual model (`CONTEXTUAL`): likewise, with all-MiniLM-L6-v2; late from 0.5 to 1.5 gives the same.
"""

from __future__ import annotations

from typing import NamedTuple

from memhop.repo.record import Layer


class Evidence(NamedTuple):
    """How a query term speaks for a unit, and for the units around it in the same session."""

    kernel: tuple[float, ...] = (0.4, 0.25, 0.1)  # share given to the previous and next unit at distance 1, 2, 3
    answer: float = 0.6  # further share given to the unit after one that asks: the answer to the asked words
    saturation: float = 0.5  # evidence of one term at which half of its idf is earned
    prefix: float = 0.5  # weight of an indexed term that begins with the query term, or with which it begins
    prefix_chars: int = 4  # both at least this long, and not a number
    prefix_terms: int = 64  # at most this many of them
    irregular: float = 0.6  # weight of another form of an irregular word: "won" for "win"
    fuzzy: float = 0.7  # weight of a term at edit distance 1; distance 2 has half of it
    fuzzy_frequency: int = 0  # a query term in more units than this is spelt as meant
    fuzzy_two_chars: int = 8  # shorter terms are taken for another at edit distance 1 only
    fuzzy_terms: int = 16
    told: float = 0.3  # weight of the rarest word in which the answer may be told, see `relations`
    rare_tokens: float = 0.7  # share of a static model's question vector that is weighted by the rarity of tokens
    late_power: float = 3.0  # cosine of the best token, to this power
    late_candidates: int = 200  # units reranked by late interaction; all give the same recall
    relative_time: float = 2.0  # a window named relative to now counts this much more: the words cannot help
    spoken: float = 1.5  # of a text that names the time asked about; 1 for one that is from it
    present: float = 1.0  # added to the weight of recency when the question is about now
    several: float = 0.25  # added to the weight `again` when the question asks for several things
    feedback: int = 3  # best units by words that stand for a question which the model failed to read
    feedback_weight: float = 0.25  # of what is found by them, as a share of the weight of `pooled`
    trust: float = 0.5  # share of the query's idf mass one unit must hold for lexical evidence to count in full


class Rerank(NamedTuple):
    """How the best candidates of a layer are read again; see `rerank`."""

    candidates: int = 20  # of each layer
    within: float = 0.3  # share of the best score that a candidate has at least, in a memory of `least_units`
    least_units: int = 200  # how rare a word is cannot be told from fewer: a smaller memory counts as so large
    chars: int = 2000  # of a candidate that are read
    searched_chars: int = 65_536  # of a candidate, for the place from which to read
    states: int = 5  # most texts that tell of one subject's states; more of them are a topic
    known: float = 0.6  # share of the question's idf mass that the best one must have for a subject to be known
    subject: float = 0.3  # share of the best one's idf mass that a text on the same subject has, if it begins with it
    half_subject: float = 0.45  # share if it does not, or if other texts have more
    sure_subject: float = 0.6  # share that is enough wherever it stands
    told: float = 0.5  # share of the best score that a text has which tells of it in words of the relation asked for
    rarest: float = 0.8  # idf that a shared word has of the rarest one's, at least
    beginning: int = 3  # tokens
    alike: float = 0.6  # share of tokens in common from which two texts are near copies


class Weights(NamedTuple):
    """How channels and priors count inside one layer. Evidence channels first."""

    lexical: float = 1.0
    late: float = 0.5
    pooled: float = 1.0
    session: float = 0.0  # BM25 of the whole session
    named: float = 0.0  # the unit's speaker is the first one the question names
    statement: float = 0.0  # the unit does not just ask
    detail: float = 0.0  # longer units say more
    time: float = 1.0  # the unit's time lies in a window the question speaks of
    recency: float = 0.0  # newest unit of the layer 1, oldest 0
    usage: float = 0.0  # recalled often before; saturates at 20 recalls
    association: float = 0.0  # its scene is one of those that the best hits bring to mind; the most active gets it all
    value: float = 0.0  # it tells the values asked for; this and the next three are shares of the best score
    exact: float = 0.0  # it has the question's words and pairs of words letter by letter, and says no where it does
    order: float = 0.0  # it has the question's words in their order
    current: float = 0.0  # of texts on one subject it is the newest, or the one of the time asked about
    again: float = 0.0  # a hit is set back by this for each better one of its session, in spreads of the best totals
    across: float = 1.0  # of the layer, when lists of several layers are merged


WEIGHTS = {
    Layer.MESSAGES: Weights(
        late=0.7,
        pooled=0.5,
        session=0.3,
        named=1.0,
        statement=0.8,
        detail=0.1,
        time=1.5,
        current=0.5,
        again=0.05,
        association=0.05,
    ),
    Layer.NOTES: Weights(detail=0.1, time=2.0, recency=0.2, usage=0.1, value=0.5, exact=0.2, order=0.05, current=0.85),
    Layer.TOPICS: Weights(
        across=0.05
    ),  # behind the messages they cite: in front of them they cost 1.5 points of recall@10
    Layer.KNOWLEDGE: Weights(),
    Layer.CAPABILITIES: Weights(across=0.5, usage=0.1),
}
# What is different where tokens have another vector in each sentence: they deserve more, and tell more of a session and
# of what belongs together, where association adds nothing (measured: an evidence turn of one question less).
CONTEXTUAL: dict[Layer, dict[str, float]] = {
    Layer.MESSAGES: {"late": 1.0, "session": 0.1, "association": 0.0},
    Layer.NOTES: {"late": 1.0},
}
EVIDENCE = Evidence()
RERANK = Rerank()


def weights_of(layer: Layer, *, contextual: bool) -> Weights:
    """A layer's weights; `contextual`: the question was compared by vectors of tokens where they stand."""
    return WEIGHTS[layer]._replace(**CONTEXTUAL.get(layer, {})) if contextual else WEIGHTS[layer]
