"""The public face: `DB`, its namespaces, and the frozen results they return.

    db           DB.open, the verbs (remember, recall, search, update, forget, …), upkeep
    namespaces   db.archive, db.notes, db.scenes, db.topics, db.profile, db.knowledge, db.facts,
                 db.capabilities, db.trajectory
    knowledge    graphs, nodes, edges; knowledge_import: what writing and importing nodes means; knowledge_queries
    facts        db.facts: dated facts
    notes        what `remember` means, in terms of records
    moving       topics from scene to scene: merging scenes, splitting one
    fusing       topics into one above them by hand, and taking such a one apart
    closure      deleting a scene or topic with all that belongs to it
    refining     keywords of one topic, worked out anew
    scene_context    a scene as something to read
    forgetting   forget and purge: to the trash, or erased
    erasure      what goes with what is erased, and what stays without it
    proof        erase, compact, search the raw bytes, write a receipt; needles: the bytes to look for
    space        what uses the space of a file
    card_source  where cards are imported from: files, folders, text, all distrusted
    crystals     what crystallizing gives back
    reading      recall, search, why_not, stats: requests in, results out
    backups      copies of a memory: make, list, verify, restore; the settings of automatic ones
    rotation     automatic copies: when one is due, which are kept
    backfill     draining the queue of units that have no vector yet
    repair       memhop.repair: what is readable of a damaged file, in a new one
    doctor       memhop.doctor: what is wrong with a memory (case, what its checks share) and with where it lies
                 (surroundings, mounts)
    convert      records -> results
    reports      what the file says of itself -> results
    results      frozen dataclasses with `to_dict()`; ids as 16 hex digits, times as Unix ms

Everything here checks its arguments and returns plain data; nothing below is exposed.
"""
