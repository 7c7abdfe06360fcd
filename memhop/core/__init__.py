"""Bytes on disk: the .meh file. Knows frames, commits and segments, nothing of memory.

    format       THE specification: layout, invariants, what is assumed of the disk, what each crash leaves
    header       who a file is: two headers and the genesis payload
    frame        one frame: encode, examine, mend, find the next good one
    commit       the commit frame and the digest chain
    batch        one append as bytes
    replay       the log as batches; tells a torn tail from rot. The one walk behind open, verify and compaction
    segment      immutable arrays, mapped and used in place
    manifest     which segments a checkpoint consists of
    records      id -> offset, over segments and the delta
    reader       frames by offset, through the map or pread
    log_state    what a handle knows, and how it is loaded
    side_files   what the files beside it are called
    recovery     open-time decisions: save and cut a torn tail
    create       making a new file
    views        writing genesis, segments, manifests, headers
    sync         group commit
    writer       append, fsync, roll back
    checkpoint   publish a new segment
    merge        several segments made one, in steps
    reading      the reading half of a handle
    snapshot     the records of one moment, read beside a writer
    past         what the log said at an earlier commit
    gate         one thread of one process at a time
    turns        several processes on one file: keeping up with them, writing in turns
    meh_file     MehFile: the handle which the layers above use
    compaction   rewrite without dead bytes
    verify       check everything, change nothing
    space        what the bytes of a file are used for
    repair       save what is readable into a new file
    backup       a commit of an open file, copied while others write
    restore      a verified copy put in the place of a file, which is kept
    disk, lock   the seam to the operating system

Standard library only, apart from portalocker where the lock is taken and numpy where large indexes are merged.
"""
