"""Many memories in one process, over HTTP. A request passes these, in this order:

    connection.py   sockets: how many from one peer, and how long one may be silent
    gate.py         whose request it is, and whether it is well formed, small enough and not too soon
    app.py          which path leads where
    calls.py        whether its token allows this memory, its turn there, and how long it may take
    tenants.py      the memories, opened when they are asked for

What leads from a path to a call: the table routes.py and rest.py for operations, download.py for exports, feed.py and
events.py for changes as they happen. How it looks: responses.py; shapes.py and openapi.py say so to programs.

What the gate goes by: tokens.py, access.py, names.py, limits.py, head.py. What it answers: refusal.py. Files beside
the memories, each private to the user who runs the server: tokens.json, audit.jsonl, server.json.
"""
