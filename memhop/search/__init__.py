"""Recall: what bears on a question, and why.

    query         a question made ready: its terms, its time, its filters as a mask over units
    time_window   "last week", "on 8 May", 上周 resolved against the question's own time
    tuning        every weight, with how it was chosen
    sparse        numbers for a few units out of many, and where they are added up
    evidence      one query term handed on to neighbouring turns
    channels      lexical, entity, session, named speaker, time: a number each for some units
    confidence    how likely it is that the answer is there at all
    semantics     pooled vectors and late interaction; the border to the embedder
    fusion        channels -> one order; pure functions
    diversity     sessions taken in turn where a question has several answers
    marks         what makes two values the same or different
    numerals, measures, moments, quantities, values     the values a text speaks of, however they are written
    reading       a question and a candidate, side by side
    states        the present and the past of one subject
    rerank        the best few looked at closely, with `values`, `reading` and `states`
    force         of several dated facts on one subject the one of the time asked about
    knowledge     one graph: nodes by words or type, what lies around a node, shortest ways
    association   spreading activation over L1
    packing       hits -> a context text within a token budget, fenced as data
    recall        the whole path; writes nothing
    cards         which capability cards fit a text, those that come with MemHop among them
    turn          the agent loop: search = recall + store the turn, update = append the reply

Data flows downwards through this list. Files are reached only through `repo`.
"""
