"""Buckets, and how addresses are counted."""

from __future__ import annotations

import pytest

from memhop.server.http.limits import Buckets, counted, is_local, peer_of


class Seconds:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_bucket_gains_its_rate_up_to_its_burst() -> None:
    clock = Seconds()
    buckets = Buckets(2.0, 3, now=clock)
    assert [buckets.take("a") for _ in range(3)] == [0, 0, 0]
    assert buckets.take("a") == pytest.approx(0.5)
    assert buckets.wait("a") == pytest.approx(0.5)
    assert buckets.wait("b") == 0
    clock.now += 0.5
    assert buckets.take("a") == 0
    assert buckets.take("a") > 0
    clock.now += 1000
    assert [buckets.take("a") for _ in range(4)] == [0, 0, 0, pytest.approx(0.5)]


def test_asking_again_and_again_gains_nothing() -> None:
    clock = Seconds()
    buckets = Buckets(1.0, 1, now=clock)
    buckets.take("a")
    for _ in range(9):
        clock.now += 0.1
        assert buckets.take("a") > 0
    clock.now += 0.11
    assert buckets.take("a") == 0


def test_the_table_is_bounded() -> None:
    buckets = Buckets(0.001, 1, most=100, now=Seconds())
    for number in range(10_000):
        buckets.take(number)
    assert len(buckets) == 100
    assert buckets.take(9_999) > 0, "those seen last are kept"


@pytest.mark.parametrize(
    ("address", "whole"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::99", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("no:address", "no:address"),
        ("", ""),
    ],
)
def test_an_address_of_version_6_counts_as_its_network(address: str, whole: str) -> None:
    """Whoever has one has 2**64 of them."""
    assert counted(address) == whole


def test_the_other_end_is_that_of_the_socket() -> None:
    forwarded = [(b"x-forwarded-for", b"10.0.0.9"), (b"forwarded", b"for=10.0.0.9"), (b"x-real-ip", b"10.0.0.9")]
    assert peer_of({"client": ("10.0.0.1", 5), "headers": forwarded}) == "10.0.0.1"
    assert peer_of({"client": None}) == "-"


@pytest.mark.parametrize(
    ("client", "server", "local"),
    [
        ("127.0.0.1", "127.0.0.1", True),
        ("::1", "::1", True),
        ("10.0.0.1", "10.0.0.1", True),
        ("10.0.0.2", "10.0.0.1", False),
        ("nonsense", "nonsense", False),
    ],
)
def test_who_is_on_this_machine(client: str, server: str, local: bool) -> None:
    assert is_local({"client": (client, 1), "server": (server, 2)}) == local
    assert not is_local({"client": None, "server": (server, 2)})
