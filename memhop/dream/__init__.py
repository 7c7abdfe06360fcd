"""Consolidation: what a memory does with what it holds while nobody asks.

stage      what a stage is: it plans changes, and never writes
stages     which there are, in their order:
           placing (loose messages find scenes), keywords (by a model), compress (turns are fused), engrams (scenes
           are linked), profile (whom the agent serves); reading, vectors and wording are what they share
guard      what a dream may do, whatever a stage proposes
pipeline   one dream: changes are applied in bounded commits, each with its step of the journal
crystallize  draft cards from what the agent did in a session
purse      what a model may be asked, and was asked
journal    what dreams did: records before and after
undo       taking a dream back
crystallize   cards out of a session, when the host asks for them
"""
