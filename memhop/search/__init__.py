"""Recall: what bears on a question, and why.

    query         a question made ready: its terms, its time, its filters as a mask over units
    time_window   "last week", "on 8 May", 上周 resolved against the question's own time
    channels      lexical, fuzzy, semantic (pooled and late), session: one score per unit each
    fusion        channels -> one order; pure functions
    association   spreading activation over L1
    packing       hits -> a context text within a token budget, fenced as data
    recall        the whole path; writes nothing
    turn          the agent loop: search = recall + store the turn, update = append the reply

Data flows downwards through this list. Files are reached only through `repo`.
"""
