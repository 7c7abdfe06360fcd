"""Consolidation: what a memory does with what it holds while nobody asks.

stage      what a stage is: it plans changes, and never writes
stages     which there are, in their order: place, keywords, compress, engrams, profile
placing    messages that were only appended get a scene and a topic
compress   neighbouring topics on one thing are put under a fused one, which cites what was said
engrams    a node per scene, edges between scenes, and what has faded
wording    how telling words are, for names and likeness of scenes
vectors    where the vectors of several messages point
reading    walks through records
profile    what the user's own newest messages say about them
guard      what a dream may do, whatever a stage proposes
pipeline   one dream: changes are applied in bounded commits, each with its step of the journal
crystallize  draft cards from what the agent did in a session
purse      what a model may be asked, and was asked
journal    what dreams did: records before and after
undo       taking a dream back
crystallize   cards out of a session, when the host asks for them
"""
