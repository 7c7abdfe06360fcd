"""Finding things: structures in memory and in mapped arrays that can be dropped and rebuilt from the log.

They take ids, ordinals, terms and vectors, never a record, and open no file. What they share is told in two places:
`parts` (immutable arrays of a checkpoint, used in place, plus one delta in memory; `seal` merges, `attach` takes the
result; `merging` does it a step at a time and without the delta, `swap` takes that) and `slabs` (rows that arrive under
a key and replace older rows of the same owner).

    text        tokenizer      any text to index terms and query terms
                scripts        character classes of the writing systems
                stopwords      words that say nothing about what is sought
                irregular      English words whose forms no stemmer brings together
    units       units          ordinal <-> id, which live, their labels           parts
                neighbours     the unit before and after with the same label
    words       bm25           where each term occurs, and how strongly           parts
                strength       what one term says of one unit
                postings       the arrays behind it, and merging them
                occurrences    the same of what came last, not yet sorted
                lexicon        numbers for their terms
                fuzzy          words spelt nearly so, or beginning alike
                signatures     exact filters that make it fast
                bk_tree        the tree that can take their place
    meaning     slabs          rows under keys, the last word of each owner
                owners         who has a row
                vectors        cosine, exact or by sign bits first                slabs
                late           token-by-token similarity                          slabs
                contextual     the same with vectors of tokens where they stand   late, slabs
    belonging   groups         key -> ids in order                                parts
                entries        the arrays behind it, and merging them
    tools       columns        integers of a part in few bytes                    parts
                growable       an array that grows
                ranking        the best k in one fixed order

Ordinals are dense, in order of arrival. Deaths are bits in `units.live`; the statistics of `bm25` and the results of
everything else are taken over what lives. Ties are always broken by ordinal, so the same content gives the same answer
however it was sealed and merged, to the last bit of a score.

Nothing here is thread-safe: the store holds its lock around every call. Importing a module of this folder imports
numpy, so the layers above import them when the first search or write needs them.
"""
