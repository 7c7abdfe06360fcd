"""The eight layers as records, and the one place where bytes (`core`) meet indexes (`index`).

record       what every record can say about itself: its kind, its groups, its searchable unit
l0_profile … l7_trajectory    one file per layer: record types, id rules, nothing else
l3_facts, l3_timeline         dated facts, and how an assertion fits into what is known
card         what a capability card must look like; builtin: those that come with MemHop
vectors      vectors and token ids as slab records, one set per vector space
contexts     vectors of tokens: on which basis, and when there is another one
slabs        writing slabs that a frame can hold
codec        record <-> payload, in one table; fields this build does not know survive a rewrite
references   which records a record refers to, and what is left of it without them
space_views  vectors, tokens and contexts of the spaces in use
views        that, groups, units, BM25, vocabulary: derived, caught up from the log, dropped at will
contents     what views hold, as tables that can be compared
checking     do references resolve, do views equal what the log says
mending      taking out references that do not resolve
merging      merging full segments of the indexes, a step with each commit
gathering    joining small slabs, dropping rows of what is gone
traces       what records have left in the log: versions, rows of vectors and token ids
batch        what one call writes
store        typed get / find / scan; `Store.writing()` is the only way to write
"""
