"""Consolidation: what a memory does with what it holds while nobody asks.

stage      what a stage is: it plans changes, and never writes
stages     which there are, in their order: keywords
guard      what a dream may do, whatever a stage proposes
pipeline   one dream: changes are applied in bounded commits, each with its step of the journal
purse      what a model may be asked, and was asked
journal    what dreams did: records before and after
undo       taking a dream back
"""
