"""The figures of the servers, as Markdown for `benches.readme`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Table = Callable[[Sequence[str], Sequence[Sequence[str]]], str]


def servers(start: Mapping[str, Any], http: Mapping[str, Any], table: Table) -> str:
    """How soon `memhop mcp` answers, and what `memhop serve` does.

    Args:
        start, http: Results of `benches.mcp_start` and `benches.http`.
    """
    started = [
        [name, *(f"{found[key]:,.0f}" for key in ("initialize_ms", "tools_ms", "cpu_ms"))]
        for name, found in start["servers"].items()
    ]
    asked = [
        [name, f"{found['per_s']:,.0f}", *(f"{found[key]:.1f}" for key in ("p50_ms", "p95_ms", "p99_ms"))]
        for name, found in http["load"].items()
    ]
    tenants, damaged = http["tenants"], http["damaged"]
    beside = " / ".join(f"{damaged[way]['p95_ms']:.0f}" for way in _WAYS)
    return (
        f"**`memhop mcp`** on {start['notes']:,} notes, from its start to the answer, milliseconds, median, "
        f"in turns with servers that have nothing ({start['ratios']['initialize_ms']:.2f} x the faster one):\n\n"
        + table(["", "initialize", "tools/list", "CPU"], started)
        + f"\n\n**`memhop serve`**, {http['notes']:,} notes, {http['connections']} connections, load and server on "
        "the same cores; each stored note is synced:\n\n"
        + table(["", "per second", "p50 ms", "p95 ms", "p99 ms"], asked)
        + f"\n\n{tenants['tenants']:,} tenants visited in turns, {tenants['most_open']} open at a time: "
        f"{tenants['per_s']:,.0f} a second, peak {tenants['peak_rss_mb']:,.0f} MB. p95 of paced requests to sound ones "
        f"{', '.join(_WAYS)}: {beside} ms."
    )


_WAYS = ("alone", "beside a sound one", "beside a damaged one")
