"""The Model Context Protocol.

protocol.py    operations, resources and prompts as a server of the protocol, whatever carries it
resources.py   what can be read by address
prompts.py     what people can start by name
guidance.py    the habit a model is taught when it connects
memory.py      one memory, opened when it is first needed
streams.py     lines of JSON on standard input and output
stdio.py       the process around them
"""
