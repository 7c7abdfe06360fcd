"""Memory for any agent, over the Model Context Protocol and over HTTP.

    operation.py    what can be asked of a memory: one table, whatever protocol a question comes by
    parameters.py   what an operation takes: JSON Schema, and the check of what came
    reply.py        what it answers: plain data and a short text, never larger than there is room
    faults.py       errors as clients get them
    standin.py      the empty memory that answers for one that is not there
    toolsets.py     which operations a client is shown
    operations/     the operations, a module per layer
    mcp/            the protocol, and the server on standard input and output
    http/           many tenants in one process: MCP, REST, events

Arguments come from models and strangers: nothing is believed before `parameters.py` or `http/gate.py` checked it.
"""
