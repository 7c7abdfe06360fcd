"""Which file system a path is on, and whether a lock and a write seen by one machine are seen by all.

Pure functions over the text of `/proc/self/mountinfo` (Linux; see proc(5)), whose lines are

    36 35 98:0 /root /mount\\040point rw,noatime master:1 - type source options
"""

from __future__ import annotations

import re
from typing import NamedTuple

_SHARED = frozenset(
    "9p acfs afs autofs beegfs ceph cifs coda davfs fuse gfs2 glusterfs gpfs lustre ncpfs nfs nfs4 ocfs2 orangefs "
    "panfs prl_fs smb3 smbfs vboxsf virtiofs vmhgfs".split()
)
_LOCAL_FUSE = frozenset({"fuse.fuse-overlayfs", "fuse.bindfs", "fuse.gocryptfs", "fuse.encfs", "fuse.ntfs-3g"})
_IN_MEMORY = frozenset({"tmpfs", "ramfs"})
_OCTAL = re.compile(r"\\([0-7]{3})")


class Mount(NamedTuple):
    """A mounted file system."""

    point: str
    kind: str
    source: str

    @property
    def shared(self) -> bool:
        """Other machines, or the host of this one, may have the same files in use without seeing our locks."""
        return self.kind in _SHARED or (self.kind.startswith("fuse.") and self.kind not in _LOCAL_FUSE)

    @property
    def in_memory(self) -> bool:
        """Its files are gone when the machine stops."""
        return self.kind in _IN_MEMORY


def mount_of(path: str, mountinfo: str) -> Mount | None:
    """The mount a path lies on: the one with the longest mount point, the last of equals. None: the text has none.

    Args:
        path: Absolute, symbolic links resolved.
    """
    found = None
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        where, what = before.split(" "), after.split(" ")
        if len(where) < 6 or len(what) < 2:
            continue
        point = _plain(where[4])
        inside = path == point or path.startswith(point.rstrip("/") + "/")
        if inside and (found is None or len(point) >= len(found.point)):
            found = Mount(point, what[0], _plain(what[1]))
    return found


def _plain(text: str) -> str:
    """Spaces, tabs, line ends and backslashes are written in octal."""
    return _OCTAL.sub(lambda match: chr(int(match[1], 8)), text)
