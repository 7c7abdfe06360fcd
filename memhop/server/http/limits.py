"""What one stranger may take of the server: `Limits`, and the buckets that hold requests to a rate.

A bucket holds up to `burst` drops and gains `rate` of them a second; a request takes one, or is told how long to wait.
Nothing is counted by what a client can choose: the address is that of the socket, whatever X-Forwarded-For says. An
IPv6 address counts as its /64, which one customer has whole.
"""

from __future__ import annotations

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from typing import Any, NamedTuple


class Limits(NamedTuple):
    """Bounds of requests. Beyond them one is refused, with what to do about it.

    Attributes:
        body_bytes: Of a request.
        buffered_bytes: Of all bodies that are being received at once.
        body_seconds: Until a body has arrived whole.
        head_bytes: Of all headers; of path and query, too.
        head_seconds: Until the head of a request has arrived whole, from the first byte on or from connecting.
        write_seconds: In which a client takes nothing of an answer, before the connection is cut.
        connections: Open ones of one peer.
        all_connections: Open ones of all; half as many as the process may have files open, where that is less.
        rate, burst: Requests of one token, per second and at once.
        peer_rate, peer_burst: Requests of one peer, whatever tokens it has.
        failure_rate, failure_burst: Wrong tokens of one peer. Beyond, no token from there is let in, but for those
            that were right before.
    """

    body_bytes: int = 16 * 1024 * 1024
    buffered_bytes: int = 128 * 1024 * 1024
    body_seconds: float = 20.0
    head_bytes: int = 16 * 1024
    head_seconds: float = 10.0
    write_seconds: float = 30.0
    connections: int = 256
    all_connections: int = 4096
    rate: float = 1000.0
    burst: int = 2000
    peer_rate: float = 2000.0
    peer_burst: int = 4000
    failure_rate: float = 0.5
    failure_burst: int = 20


DEFAULTS = Limits()


class Buckets:
    """One bucket per key, of the `most` keys that were seen last.

    Args:
        rate: Drops per second, more than 0.
        burst: Drops of a full bucket, at least 1.
        most: Buckets that are kept. Who has more addresses than this has as many full buckets anyway.
        now: Seconds that only grow.
    """

    def __init__(
        self, rate: float, burst: int, *, most: int = 10_000, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate, self._burst, self._most, self._now = rate, burst, most, now
        self._buckets: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()  # key -> drops, when

    def take(self, key: Hashable) -> float:
        """Take a drop. Returns 0, or the seconds until there is one; nothing is taken then. Cost: about 1 us."""
        drops, now = self._drops(key)
        if drops < 1:
            return (1 - drops) / self._rate
        self._buckets[key] = (drops - 1, now)
        self._buckets.move_to_end(key)
        if len(self._buckets) > self._most:
            self._buckets.popitem(last=False)
        return 0.0

    def wait(self, key: Hashable) -> float:
        """The seconds until `take` would succeed, without taking anything."""
        drops, _ = self._drops(key)
        return max(0.0, (1 - drops) / self._rate)

    def __len__(self) -> int:
        """Buckets that are kept."""
        return len(self._buckets)

    def _drops(self, key: Hashable) -> tuple[float, float]:
        now = self._now()
        drops, then = self._buckets.get(key, (float(self._burst), now))
        return min(float(self._burst), drops + (now - then) * self._rate), now


def peer_of(scope: Mapping[str, Any]) -> str:
    """Who is at the other end of the socket, as it is counted: an IPv4 address or an IPv6 /64; "-": it has none."""
    client = scope.get("client")
    return counted(client[0]) if client else "-"


def counted(address: str) -> str:
    """An address as it is counted."""
    if ":" not in address:
        return address
    try:
        whole = ipaddress.IPv6Address(address.partition("%")[0])
    except ValueError:
        return address
    if whole.ipv4_mapped:
        return str(whole.ipv4_mapped)
    return str(ipaddress.IPv6Network((whole, 64), strict=False))


def is_local(scope: Mapping[str, Any]) -> bool:
    """Whether a request comes from this machine: over loopback, or from the address it was sent to."""
    client, server = scope.get("client"), scope.get("server")
    if not client:
        return False
    try:
        address = ipaddress.ip_address(client[0].partition("%")[0])
    except ValueError:
        return False
    return address.is_loopback or bool(server and server[0] == client[0])
