"""`Metrics`: what the server has done, as Prometheus reads it.

Nothing is labelled with what strangers choose: names of operations, outcomes and statuses are ours, so that there are
some hundred lines at most. Tenants are named only where whoever runs the server asks for it.
"""

from __future__ import annotations

import bisect
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

BUCKETS_S: Final = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


class Metrics:
    """Counters. To be told and asked from the event loop alone.

    Args:
        by_tenant: Count calls by tenant, too.
    """

    def __init__(self, *, by_tenant: bool = False) -> None:
        self._by_tenant = by_tenant
        self._calls: Counter[tuple[str, str]] = Counter()  # (operation, outcome)
        self._answers: Counter[int] = Counter()  # by status
        self._tenants: Counter[str] = Counter()
        self._seconds: dict[str, list[int]] = {}  # scope -> calls by bucket, the last one without an end
        self._sums: Counter[str] = Counter()

    def called(self, operation: str, scope: str, outcome: str, tenant: str, seconds: float) -> None:
        """A call of an operation has ended.

        Args:
            outcome: "ok", or the name of an error.
            seconds: From the moment it was asked for, waiting counted in.
        """
        self._calls[operation, outcome] += 1
        if self._by_tenant:
            self._tenants[tenant] += 1
        counts = self._seconds.setdefault(scope, [0] * (len(BUCKETS_S) + 1))
        counts[bisect.bisect_left(BUCKETS_S, seconds)] += 1
        self._sums[scope] += seconds  # type: ignore[assignment]

    def answered(self, status: int) -> None:
        """An answer has begun."""
        self._answers[status] += 1

    def text(self, now: Mapping[str, float]) -> str:
        """All of it.

        Args:
            now: Gauges and counters that others keep: name -> value; a name that ends in "_total" is a counter.
        """
        return "\n".join(self._lines({**now, "resident_bytes": resident_bytes()})) + "\n"

    def _lines(self, now: Mapping[str, float]) -> Iterator[str]:
        yield "# TYPE memhop_calls_total counter"
        for (operation, outcome), count in sorted(self._calls.items()):
            yield f'memhop_calls_total{{operation="{operation}",outcome="{outcome}"}} {count}'
        yield "# TYPE memhop_http_answers_total counter"
        for status, count in sorted(self._answers.items()):
            yield f'memhop_http_answers_total{{status="{status}"}} {count}'
        if self._by_tenant:
            yield "# TYPE memhop_tenant_calls_total counter"
            for tenant, count in sorted(self._tenants.items()):
                yield f'memhop_tenant_calls_total{{tenant="{tenant}"}} {count}'
        yield "# TYPE memhop_call_seconds histogram"
        for scope, counts in sorted(self._seconds.items()):
            total = 0
            for bound, count in zip((*BUCKETS_S, "+Inf"), counts, strict=True):
                total += count
                yield f'memhop_call_seconds_bucket{{scope="{scope}",le="{bound}"}} {total}'
            yield f'memhop_call_seconds_sum{{scope="{scope}"}} {self._sums[scope]:.6f}'
            yield f'memhop_call_seconds_count{{scope="{scope}"}} {total}'
        for name, value in sorted(now.items()):
            yield f"# TYPE memhop_{name} {'counter' if name.endswith('_total') else 'gauge'}"
            yield f"memhop_{name} {value:.15g}"


def resident_bytes() -> int:
    """Memory of this process that is in RAM; 0 where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * _PAGE
    except (OSError, ValueError, IndexError):
        return 0
