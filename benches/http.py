"""How many requests does the server answer, and how soon?

    python -m benches.http [--notes 10000] [--requests 2000] [--tenants 1000] [--json FILE]

`memhop serve` runs as a process of its own; this one is the load: eight connections, each with one request at a time.

    load         recall and remember over REST and over MCP (both forms of the protocol), on a memory of so many notes;
                 beside them, on the same server, an empty route
    tenants      so many memories, visited in turns, 50 open at a time: resident memory, and what opening costs
    damaged      paced requests to sound memories, in turns alone, beside one more that is sound, and beside one that is
                 damaged, which is asked as often as all of them together: ratios of the times
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import memhop
from benches import report
from benches.briefs import fill
from memhop.server.http.tokens import NAME, Tokens

CONNECTIONS: Final = 8
MOST_OPEN: Final = 50
_MODERN: Final = "2026-07-28"
_PACE_S: Final = 0.04  # between requests of a paced connection
_META: Final = {
    "io.modelcontextprotocol/protocolVersion": _MODERN,
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Ask(NamedTuple):
    """A request, ready to be sent."""

    method: str
    path: str
    body: dict[str, Any] | None = None
    headers: tuple[str, ...] = ()


class Server(NamedTuple):
    """A server that runs."""

    pid: int
    port: int
    token: str

    @property
    def cpu_s(self) -> float:
        """Processor time it has used."""
        fields = Path(f"/proc/{self.pid}/stat").read_text("ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def peak_mb(self) -> float:
        """The most memory it has had in RAM."""
        lines = Path(f"/proc/{self.pid}/status").read_text("ascii").splitlines()
        return round(next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024, 1)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benches.http", description=__doc__.partition("\n")[0])
    parser.add_argument("--notes", type=int, default=10_000)
    parser.add_argument("--requests", type=int, default=2_000, help="of each kind")
    parser.add_argument("--tenants", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=6, help="of the part with a damaged memory")
    parser.add_argument("--seconds", type=float, default=1.5, help="of one of them")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    options = parser.parse_args(argv)
    environment = report.environment(seed=0, data_sha256="generated")
    report.print_environment(environment)
    figures: dict[str, Any] = {"notes": options.notes, "connections": CONNECTIONS, "requests": options.requests}
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "root")
        root.mkdir(mode=0o700)
        fill(root / "bench.meh", options.notes)
        for number in range(options.tenants):
            with memhop.DB.open(root / f"t{number}.meh", durability="none") as db:
                db.remember_many([f"note {one} of tenant {number} about tea" for one in range(20)])
        _, token = Tokens(root / NAME).add("*", ("read", "write", "admin"))
        with serving(root, token) as server:
            figures["load"] = asyncio.run(load(server, options.requests, options.notes))
        with serving(root, token) as server:
            figures["tenants"] = asyncio.run(visits(server, options.tenants))
        damage(root / "t0.meh")
        with serving(root, token) as server:
            figures["damaged"] = asyncio.run(beside_a_damaged_one(server, options.rounds, options.seconds))
    rows = [
        [name, f"{one['per_s']:,.0f}", *(f"{one[key]:.1f}" for key in ("p50_ms", "p95_ms", "p99_ms", "server_cpu_ms"))]
        for name, one in figures["load"].items()
    ]
    report.print_table(
        f"{CONNECTIONS} connections, {options.notes:,} notes",
        ["request", "per s", "p50 ms", "p95", "p99", "CPU ms"],
        rows,
    )
    print(json.dumps({"tenants": figures["tenants"], "damaged": figures["damaged"]}, indent=1))
    if options.json:
        report.write_json(options.json, environment, figures)
    return 0


@contextmanager
def serving(root: Path, token: str) -> Iterator[Server]:
    """A server on this folder, in a process of its own."""
    environ = {**os.environ, "MEMHOP_SERVER_RATE": "100000", "MEMHOP_SERVER_MOST_OPEN": str(MOST_OPEN)}
    command = [sys.executable, "-m", "memhop.cli.main", "serve", "--root", str(root), "--port", "0"]
    process = subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        yield Server(process.pid, int(line.partition(" for ")[0].rpartition(":")[2]), token)
    finally:
        process.terminate()
        process.wait(30)
        if process.stdout is not None:
            process.stdout.close()


# -- the load --------------------------------------------------------------------------------------------------------


class Connection:
    """One connection that is kept, with one request at a time."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, ask: Ask, tenant: str) -> tuple[int, bytes]:
        """Status and body."""
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._server.port)
        reader, writer = self._streams
        body = b"" if ask.body is None else json.dumps(ask.body).encode()
        head = [
            f"{ask.method} {ask.path} HTTP/1.1", f"Host: 127.0.0.1:{self._server.port}", f"Memhop-Tenant: {tenant}",
            f"Authorization: Bearer {self._server.token}", *ask.headers,
        ]  # fmt: skip
        if ask.body is not None:
            head += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
        writer.write("\r\n".join([*head, "", ""]).encode() + body)
        answer = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        length = int(answer.partition("content-length:")[2].partition("\r\n")[0])
        return int(answer.split(" ", 2)[1]), await reader.readexactly(length)

    async def close(self) -> None:
        """End it."""
        if self._streams is not None:
            self._streams[1].close()
            await self._streams[1].wait_closed()


def over_rest(name: str, arguments: dict[str, Any]) -> Ask:
    """A request over REST."""
    return Ask("POST", "/api/v1/recall" if name == "memhop_recall" else "/api/v1/notes", arguments)


def over_mcp(name: str, arguments: dict[str, Any], *, tenant: str, modern: bool) -> Ask:
    """A call of a tool."""
    params: dict[str, Any] = {"name": name, "arguments": arguments}
    headers: tuple[str, ...] = ("Accept: application/json, text/event-stream",)
    if modern:
        params["_meta"] = _META
        headers += (f"MCP-Protocol-Version: {_MODERN}", "Mcp-Method: tools/call", f"Mcp-Name: {name}")
    else:
        headers += ("MCP-Protocol-Version: 2025-11-25",)
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return Ask("POST", f"/mcp/{tenant}", body, headers)


def recall(number: int, notes: int) -> tuple[str, dict[str, Any]]:
    """A question, each another one."""
    return "memhop_recall", {"query": f"what of note {number * 37 % notes} about thing {number * 7919 % 1000}?"}


def remember(number: int, _: int) -> tuple[str, dict[str, Any]]:
    """A note, each another one."""
    return "memhop_remember", {"text": f"{time.monotonic_ns()} is when thing {number} was noted"}


async def load(server: Server, requests: int, notes: int) -> dict[str, dict[str, float]]:
    """Each kind of request, one kind after the other."""
    found: dict[str, dict[str, float]] = {}
    kinds: dict[str, Callable[[int], Ask]] = {"empty route": lambda _: Ask("GET", "/healthz")}
    for what in (recall, remember):
        kinds[f"{what.__name__}, REST"] = lambda n, what=what: over_rest(*what(n, notes))  # type: ignore[misc]
        for form, modern in (("2026-07-28", True), ("2025-11-25", False)):
            kinds[f"{what.__name__}, MCP {form}"] = lambda n, what=what, modern=modern: over_mcp(  # type: ignore[misc]
                *what(n, notes), tenant="bench", modern=modern
            )
    for name, make in kinds.items():
        await drive(server, [make(n) for n in range(80)], "bench")  # so that everything is loaded
        asks = [make(n + 1000) for n in range(requests)]
        cpu = server.cpu_s
        began = time.perf_counter()
        times = await drive(server, asks, "bench")
        wall = time.perf_counter() - began
        found[name] = figures_of(times) | {
            "per_s": round(len(times) / wall, 1),
            "server_cpu_ms": round((server.cpu_s - cpu) / len(times) * 1e3, 2),
        }
    return found


async def drive(server: Server, asks: Sequence[Ask], tenant: str) -> list[float]:
    """Ask all of it over CONNECTIONS connections. Returns the seconds each took."""
    left = iter(asks)
    times: list[float] = []

    async def one() -> None:
        connection = Connection(server)
        for ask in left:
            began = time.perf_counter()
            status, body = await connection.ask(ask, tenant)
            times.append(time.perf_counter() - began)
            if status != 200 or b'"isError":true' in body or b'"error":{' in body:
                raise RuntimeError(f"{ask.path}: {status} {body[:300]!r}")
        await connection.close()

    await asyncio.gather(*(one() for _ in range(CONNECTIONS)))
    return times


def figures_of(times: Sequence[float]) -> dict[str, float]:
    """Percentiles, milliseconds."""
    cuts = statistics.quantiles(times, n=100, method="inclusive")
    return {f"p{cut}_ms": round(cuts[cut - 1] * 1e3, 2) for cut in (50, 95, 99)}


async def visits(server: Server, tenants: int) -> dict[str, float]:
    """Two rounds through all tenants; each visit opens a memory and closes another one."""
    asks = [
        over_mcp("memhop_recall", {"query": "tea"}, tenant=f"t{number}", modern=True)
        for number in range(tenants)
        for _ in range(2)
    ] * 2
    began, cpu = time.perf_counter(), server.cpu_s
    times = await drive(server, asks, "-")
    return figures_of(times) | {
        "tenants": tenants,
        "most_open": MOST_OPEN,
        "per_s": round(len(times) / (time.perf_counter() - began), 1),
        "server_cpu_ms": round((server.cpu_s - cpu) / len(times) * 1e3, 2),
        "peak_rss_mb": server.peak_mb,
    }


def damage(path: Path) -> None:
    """Make a file that no longer can be believed."""
    size = path.stat().st_size
    path.write_bytes(b"\xa5" * size)


async def beside_a_damaged_one(server: Server, rounds: int, seconds: float) -> dict[str, Any]:
    """Times of sound memories, alone and beside one that is damaged, in turns."""
    times: dict[str, list[float]] = {"alone": [], "beside a sound one": [], "beside a damaged one": []}
    others = {"beside a sound one": "t9", "beside a damaged one": "t0"}

    async def paced(tenant: str, phase: float, until: float, kept: list[float]) -> None:
        """Ask every `_PACE_S`, each connection at a moment of its own, so that they do not all come at once."""
        connection = Connection(server)
        due = time.perf_counter() + phase * _PACE_S
        while due < until:
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            began = time.perf_counter()
            due = max(due + _PACE_S, began)
            ask = over_mcp("memhop_recall", {"query": "tea"}, tenant=tenant, modern=True)
            status, body = await connection.ask(ask, tenant)
            kept.append(time.perf_counter() - began)
            assert status == 200, status
            assert (b'"isError":true' in body) == (tenant == "t0"), body[:200]
        await connection.close()

    answers: list[float] = []
    for number in range(rounds + 1):
        for name, kept in times.items():
            until = time.perf_counter() + seconds
            if not number:
                kept = []  # so that everything is loaded
            sound = [paced(f"t{one + 1}", one / 4, until, kept) for one in range(4)]
            beside = [paced(others[name], (one + 0.5) / 4, until, answers) for one in range(4) if name in others]
            await asyncio.gather(*sound, *beside)
    found: dict[str, Any] = {name: figures_of(kept) | {"answers": len(kept)} for name, kept in times.items()}
    for name in others:
        found[f"p95 {name}, ratio to alone"] = round(found[name]["p95_ms"] / found["alone"]["p95_ms"], 3)
    return found


if __name__ == "__main__":
    raise SystemExit(main())
