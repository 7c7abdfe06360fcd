"""How long does a client wait for `memhop mcp` when it starts it?

    python -m benches.mcp_start [--rounds 15] [--notes 100000] [--json FILE]

Each round starts, in turns, a server that has nothing (`MCPServer` of the official library, and its lower level), and
`memhop mcp` on a file of so many notes, and waits for the answer to `initialize` and then to `tools/list`. The ratio is
to the faster of the two empty servers in the same run: most of what is waited for is the import of that library.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import memhop
from benches import report
from benches.briefs import fill

_EMPTY: Final = {
    "empty MCPServer": "from mcp.server.mcpserver import MCPServer\nMCPServer('x').run('stdio')",
    "empty lowlevel.Server": (
        "import anyio\nfrom mcp.server.lowlevel import Server\nfrom mcp.server.stdio import stdio_server\n"
        "from mcp_types import ListToolsResult\n"
        "async def tools(context, params):\n    return ListToolsResult(tools=[])\n"
        "async def main():\n    server = Server('x', on_list_tools=tools)\n"
        "    async with stdio_server() as (incoming, outgoing):\n"
        "        await server.run(incoming, outgoing, server.create_initialization_options())\n"
        "anyio.run(main)"
    ),
}
_OURS: Final = "memhop mcp"
_HANDSHAKE: Final = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}


class Start(NamedTuple):
    """One start, milliseconds: wall time until the two answers, and the CPU time of the process until the second."""

    initialize: float
    tools: float
    cpu: float


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benches.mcp_start", description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--notes", type=int, default=100_000)
    parser.add_argument("--json", type=Path, help="where to write the figures")
    options = parser.parse_args(argv)
    compileall.compile_dir(Path(memhop.__file__).parent, quiet=1)  # as pip leaves an installed package
    environment = report.environment(
        seed=0, data_sha256="generated", packages=("mcp", "pydantic", "anyio", "starlette")
    )
    report.print_environment(environment)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.meh"
        fill(path, options.notes)
        servers = {name: ["-c", code] for name, code in _EMPTY.items()}
        servers[_OURS] = ["-m", "memhop.cli.main", "mcp", "--file", str(path)]
        starts: dict[str, list[Start]] = {name: [] for name in servers}
        for number in range(-1, options.rounds):  # the first round does not count
            for name, command in servers.items():
                found = started([sys.executable, *command])
                if number >= 0:
                    starts[name].append(found)
    figures = {name: _medians(found) for name, found in starts.items()}
    ratios = {
        key: round(figures[_OURS][key] / min(figures[name][key] for name in _EMPTY), 3)
        for key in ("initialize_ms", "tools_ms", "cpu_ms")
    }
    rows = [[name, *(str(value) for value in found.values())] for name, found in figures.items()]
    rows.append(["ratio", *(str(value) for value in ratios.values())])
    report.print_table(
        f"From the start of the process, medians, {options.notes:,} notes",
        ["server", "initialize ms", "tools/list ms", "CPU ms"],
        rows,
    )
    if options.json:
        results = {"rounds": options.rounds, "notes": options.notes, "servers": figures, "ratios": ratios}
        report.write_json(options.json, environment, results)
    return 0


def started(command: Sequence[str]) -> Start:
    """Start a server, ask it, and kill it."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.perf_counter()
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "PYTHONHASHSEED": "0"}
    )
    try:
        _ask(process, {"id": 1, "method": "initialize", "params": _HANDSHAKE})
        initialize = time.perf_counter() - begun
        _ask(process, {"id": 2, "method": "tools/list"})
        tools = time.perf_counter() - begun
    finally:
        process.kill()
        process.communicate()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Start(1000 * initialize, 1000 * tools, 1000 * cpu)


def _ask(process: subprocess.Popen[bytes], request: dict[str, Any]) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps({"jsonrpc": "2.0", **request}).encode() + b"\n")
    process.stdin.flush()
    answer = json.loads(process.stdout.readline())
    if "result" not in answer:
        raise RuntimeError(f"{request['method']} was answered with {answer}")


def _medians(starts: Sequence[Start]) -> dict[str, float]:
    return {
        f"{name}_ms": round(statistics.median(values), 1)
        for name, values in zip(Start._fields, zip(*starts, strict=True), strict=True)
    }


if __name__ == "__main__":
    raise SystemExit(main())
