"""Sizes in words."""

from __future__ import annotations


def file_size(size: int, *, byte: str = "B") -> str:
    """Bytes for people: 812 B, 14.3 KiB, 2.0 MiB. `byte` is the word for less than a KiB."""
    value, unit = float(size), byte
    for unit in (byte, "KiB", "MiB", "GiB"):
        if value < 1024 or unit == "GiB":
            break
        value /= 1024
    return f"{size:,} {byte}" if unit == byte else f"{value:,.1f} {unit}"
