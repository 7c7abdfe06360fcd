"""What surrounds a memory: disk, clock, permissions, file system, and the packages it works with.

The checks of `memhop.doctor` that need not look into the file. Each returns (state, what was found, what to do).
"""

from __future__ import annotations

import os
import platform
import re
import shlex
import stat
from collections import defaultdict
from importlib import metadata
from pathlib import Path

from memhop.api.case import ERROR, NOTE, OK, STATES, WARNING, Case, bytes_text
from memhop.api.mounts import mount_of
from memhop.common.clock import to_iso

_LEAST_FREE = 1024 * 1024  # bytes; a file grows by steps of about so many
_EARLIEST_MS = 1_735_689_600_000  # 2025-01-01: a clock before it was never set
_SLACK_MS = 60_000
_MOUNTINFO = Path("/proc/self/mountinfo")
_EXTRAS = {"local": "LocalEmbedder", "onnx": "OnnxEmbedder", "llm": "OllamaEmbedder, OpenAIEmbedder", "mcp": "reserved"}
_NEEDED = re.compile(r"[\w.-]+")
_EXTRA = re.compile(r"""extra == ['"]([\w-]+)['"]""")


def disk_space(case: Case) -> tuple[str, str, str | None]:
    """Free bytes where the file lies, against its size: compaction and copies need as much again."""
    room = os.statvfs(_nearest(case.path.parent))
    free = room.f_bavail * room.f_frsize
    size = case.path.stat().st_size if case.exists else 0
    said = f"{bytes_text(free)} free, the file has {bytes_text(size)}"
    if free < _LEAST_FREE or (room.f_files and not room.f_favail):
        full = said if room.f_favail or not room.f_files else "no more files can be created"
        return ERROR, f"the disk is full: {full}", "free some space; nothing that was stored is lost meanwhile"
    if free < size:
        return WARNING, f"{said}: compaction needs room for another copy", f"free {bytes_text(size - free)}"
    return OK, said, None


def clock(now_ms: int, newest_ms: int) -> tuple[str, str, str | None]:
    """The machine's clock against the newest commit (0: none), both Unix milliseconds."""
    if now_ms < _EARLIEST_MS:
        return WARNING, f"this machine says it is {to_iso(now_ms)}", "set the clock"
    if newest_ms > now_ms + _SLACK_MS:
        return (
            WARNING,
            f"the newest commit is of {to_iso(newest_ms)}, now it is {to_iso(now_ms)}; "
            "commits keep that time until the clock has passed it",
            "set the clock, if it is this one that is wrong",
        )
    return OK, f"{to_iso(now_ms)}", None


def permissions(case: Case) -> tuple[str, str, str | None]:
    """Who may read, write and replace the file."""
    found: list[tuple[str, str, str | None]] = []
    folder = case.path.parent
    quoted, quoted_folder = shlex.quote(str(case.path)), shlex.quote(str(folder))
    if case.exists:
        status = case.path.stat()
        mode = stat.S_IMODE(status.st_mode)
        if mode & 0o077:
            found.append((WARNING, f"other users have rights to the file (mode {mode:04o})", f"chmod 600 {quoted}"))
        if status.st_uid != os.geteuid():
            found.append((NOTE, f"the file belongs to user {status.st_uid}, not to {os.geteuid()}", None))
        if not _may_write(case.path):
            found.append((WARNING, "the file can only be read", f"chmod u+w {quoted}, as its owner"))
    if not folder.is_dir():
        found.append((ERROR, f"there is no folder {folder}", f"mkdir -p {quoted_folder}"))
    else:
        mode = stat.S_IMODE(folder.stat().st_mode)
        if mode & 0o022 and not mode & stat.S_ISVTX:
            fix = f"chmod go-w {quoted_folder}"
            found.append((WARNING, f"other users can replace the file (folder of mode {mode:04o})", fix))
        if not _may_write(folder):
            said = "nothing can be written in the folder, not even the lock that a write needs"
            found.append((WARNING, said, f"chmod u+wx {quoted_folder}, as its owner"))
    if not found:
        return OK, "the file is yours alone, and can be written", None
    state = max((one[0] for one in found), key=STATES.index)
    return state, "; ".join(one[1] for one in found), "; ".join(one[2] for one in found if one[2]) or None


def file_system(case: Case) -> tuple[str, str, str | None]:
    """Whether all who use the file see the same locks and bytes."""
    try:
        text = _MOUNTINFO.read_text("utf-8", "surrogateescape")
    except OSError:
        return NOTE, "it cannot be told here", "keep the file on a disk of this machine"
    mount = mount_of(str(case.path), text)
    if mount is None:
        return NOTE, f"no mount of {case.path} is known", "keep the file on a disk of this machine"
    said = f"{mount.kind} at {mount.point}"
    if mount.shared:
        return (
            WARNING,
            f"{said} from {mount.source}: another machine, or the host, may see neither the lock nor the newest bytes; "
            "two writers at once can lose words",
            "keep the file on a disk of this machine, and only copies there (`memhop backup make`)",
        )
    if mount.in_memory:
        return NOTE, f"{said}: what is stored is gone when the machine stops", "keep the file on a disk"
    return OK, said, None


def python(_: Case) -> tuple[str, str, str | None]:
    """Versions of what MemHop cannot do without."""
    needed = _requirements().get("", [])
    versions = {name: _version(name) for name in needed}
    said = f"Python {platform.python_version()}, memhop {metadata.version('memhop')}"
    said += "".join(f", {name} {version}" for name, version in versions.items() if version)
    missing = [name for name, version in versions.items() if not version]
    if missing:
        return ERROR, f"not installed: {', '.join(missing)} ({said})", f"pip install {' '.join(missing)}"
    return OK, said, None


def optional_parts(_: Case) -> tuple[str, str, str | None]:
    """Which extras are installed."""
    requirements = _requirements()
    said, lacking = [], []
    for extra, gives in _EXTRAS.items():
        missing = [name for name in requirements.get(extra, []) if not _version(name)]
        said.append(f"{extra} ({gives}): " + (f"without {', '.join(missing)}" if missing else "installed"))
        if missing:
            lacking.append(extra)
    if lacking:
        return NOTE, "; ".join(said), f"if wanted: pip install 'memhop[{','.join(lacking)}]'"
    return OK, "; ".join(said), None


def _requirements() -> dict[str, list[str]]:
    """Names of packages by extra; those always needed under ""."""
    found: dict[str, list[str]] = defaultdict(list)
    for line in metadata.requires("memhop") or []:
        name, extra = _NEEDED.match(line), _EXTRA.search(line)
        if name is not None:
            found[extra[1] if extra else ""].append(name[0])
    return found


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _may_write(path: Path) -> bool:
    """As the user whose rights this process has."""
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def _nearest(folder: Path) -> Path:
    """The folder, or the nearest one above it that exists."""
    while not folder.is_dir() and folder != folder.parent:
        folder = folder.parent
    return folder
