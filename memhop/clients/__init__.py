"""The configuration files of agent clients: what a client reads, and one thing of ours in it. Text in, text out.

    table.py     which clients there are, which files they read, how an entry looks
    entry.py     the entry of a server, client by client
    hooks.py     what is run at events of a session
    piece.py     one thing of ours in a text: what is there, put it, take it out
    splice.py    changing one thing in a JSON text, and proving that nothing else was
    jsonc.py     JSON with comments, as spans of a text
    toml.py      the same for TOML

Nothing here reads a file, an argument or the environment: `memhop/cli/edited_file.py` does the writing. A text that
does not parse is refused, never mended.
"""
