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
    succession    superseded notes behind what took their place
    knowledge     one graph: nodes by words or type, what lies around a node, shortest ways
    association   spreading activation over L1
    scoring       all channels of one question, over one list of candidates
    layer_order   a layer's candidates in order, with all that moves them
    along         the hits of a project, and beside them those of the universal one
    held_back     what was not found: behind filters, and by words spelt nearly so
    packing       hits -> a context text within a token budget, fenced as data
    instructions  texts that read like orders to a model
    recall        the whole path; writes nothing
    cards         which capability cards fit a text, those that come with MemHop among them
    turn          the agent loop: search = recall + store the turn, update = append the reply

Data flows downwards through this list. Files are reached only through `repo`.
"""
