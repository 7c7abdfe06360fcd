"""One POST to a service on this machine, over before its time is up, whatever the other side does.

Only the status of the answer is read, and no redirect is followed. The address is resolved once, checked, and that very
address is connected to: a name cannot lead elsewhere in between. `http.client` waits as long for each line of headers
as for the whole, so what little of HTTP is needed is written out here.
"""

from __future__ import annotations

import ipaddress
import re
import socket
import time
from contextlib import nullcontext
from typing import Final
from urllib.parse import urlsplit

_STATUS: Final = re.compile(rb"HTTP/1\.[01] ([0-9]{3})[ \r]")
_LONGEST_STATUS: Final = 1_024
_PASSING: Final = frozenset((408, 425, 429, 500, 502, 503, 504))


class Refused(Exception):
    """It was not taken, and would not be at another try. One line."""


class Unreachable(Exception):
    """It was not taken; another try may help. One line."""


def post(url: str, body: bytes, *, timeout: float, remote: bool) -> None:
    """Post JSON.

    Args:
        url: http, or https.
        timeout: Seconds for all of it.
        remote: Whether the address may be one of another machine.

    Raises:
        Refused, Unreachable.
    """
    until = time.monotonic() + timeout
    try:
        parts = urlsplit(url)
        host, secure, port = parts.hostname or "", parts.scheme == "https", parts.port
    except ValueError:
        raise Refused("the endpoint is no URL") from None
    if parts.scheme not in ("http", "https") or not host or "@" in parts.netloc or not url.isascii():
        raise Refused("the endpoint is no http or https URL without a password")
    if not url.isprintable() or " " in url:
        raise Refused("the endpoint has control characters")
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    head = (
        f"POST {target} HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\nUser-Agent: memhop\r\nConnection: close\r\n\r\n"
    )
    try:
        channel = _connected(host, port or (443 if secure else 80), until, remote=remote)
        with channel, _secured(channel, host) if secure else nullcontext(channel) as channel:
            channel.settimeout(_left(until))
            channel.sendall(head.encode("ascii") + body)
            status = _status(channel, until)
    except OSError as error:  # TimeoutError, ssl.SSLError and gaierror are kinds of it
        raise Unreachable(f"{host}: {type(error).__name__}") from None
    if 200 <= status < 300:
        return
    kind = Unreachable if status in _PASSING else Refused
    raise kind(f"{host} answered {status}" + (", redirects are not followed" if 300 <= status < 400 else ""))


def _connected(host: str, port: int, until: float, *, remote: bool) -> socket.socket:
    """A socket to the first address that answers."""
    addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    if not remote and not all(is_loopback(str(address[0])) for *_, address in addresses):
        raise Refused(f"{host} is not this machine; `notify.allow_remote` would allow it")
    failure: OSError = OSError("no address")
    for family, kind, protocol, _, address in addresses:
        channel = socket.socket(family, kind, protocol)
        try:
            channel.settimeout(_left(until))
            channel.connect(address)
        except OSError as error:
            channel.close()
            failure = error
        else:
            return channel
    raise failure


def is_loopback(address: str) -> bool:
    """Whether an address is this machine itself. 0.0.0.0 and :: lead there too, and are not taken for it."""
    found = ipaddress.ip_address(address.partition("%")[0])
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return (mapped or found).is_loopback


def _secured(channel: socket.socket, host: str) -> socket.socket:
    import ssl

    return ssl.create_default_context().wrap_socket(channel, server_hostname=host)


def _status(channel: socket.socket, until: float) -> int:
    line = b""
    while b"\n" not in line and len(line) < _LONGEST_STATUS:
        channel.settimeout(_left(until))
        part = channel.recv(_LONGEST_STATUS)
        if not part:
            break
        line += part
    if not line:
        raise ConnectionError("hung up")
    match = _STATUS.match(line)
    if match is None:
        raise Refused("the answer is not HTTP")
    return int(match[1])


def _left(until: float) -> float:
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left
