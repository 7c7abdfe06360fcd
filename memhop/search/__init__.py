"""Recall: what bears on a question, and why.

    query         a question made ready: its terms, its time, its filters as a mask over units
    time_window   "last week", "on 8 May", 上周 resolved against the question's own time
    tuning        every weight, with how it was chosen
    evidence      one query term handed on to neighbouring turns
    channels      lexical, entity, session, named speaker, time: one number per unit each
    semantics     pooled vectors and late interaction; the border to the embedder
    fusion        channels -> one order; pure functions
    association   spreading activation over L1
    packing       hits -> a context text within a token budget, fenced as data
    recall        the whole path; writes nothing
    cards         capability cards that come with MemHop, and which of them fit
    turn          the agent loop: search = recall + store the turn, update = append the reply

Data flows downwards through this list. Files are reached only through `repo`.
"""
