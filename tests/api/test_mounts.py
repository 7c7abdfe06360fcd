"""The file system of a path, from samples of /proc/self/mountinfo."""

from __future__ import annotations

import pytest

from memhop.api.mounts import Mount, mount_of

SAMPLE = r"""
22 28 0:20 / /sys rw,nosuid,nodev,noexec,relatime shared:7 - sysfs sysfs rw
28 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw,errors=remount-ro
31 28 0:27 / /run rw,nosuid,nodev shared:13 - tmpfs tmpfs rw,size=1617032k,mode=755,inode64
96 28 0:45 / /home rw,relatime shared:52 - nfs4 10.0.0.5:/export/home rw,vers=4.2,hard,proto=tcp,sec=sys,local_lock=none
97 28 0:46 / /old rw,relatime - nfs filer:/vol/old rw,vers=3,nolock,local_lock=all
101 28 0:49 / /mnt/team\040share rw,relatime shared:60 - cifs //files.example/team\040share rw,vers=3.1.1,username=mara
410 409 0:61 / /mnt/c rw,noatime - 9p drvfs rw,dirsync,aname=drvfs;path=C:\;uid=1000,access=client,msize=65536,trans=fd
512 511 0:70 / /workspace rw,relatime - virtiofs host-share rw
530 28 0:71 / /home/mara/remote rw,nosuid,nodev,relatime shared:301 - fuse.sshfs mara@server:/srv rw,user_id=1000
531 28 0:72 / /media/usb rw,nosuid,nodev,relatime shared:302 - fuseblk /dev/sdb1 rw,user_id=0,group_id=0,blksize=4096
600 599 0:80 / /container rw,relatime master:1 - overlay overlay rw,lowerdir=/l/A:/l/B,upperdir=/u,workdir=/w
601 600 0:81 / /container/rootless rw,relatime - fuse.fuse-overlayfs fuse-overlayfs rw,user_id=0
700 28 0:90 / /data rw shared:9 master:2 propagate_from:3 - ext4 /dev/sda1 rw
701 28 0:91 / /data rw - virtiofs over-the-first rw
torn line - without
"""


@pytest.mark.parametrize(
    ("path", "mount", "shared"),
    [
        ("/var/lib/agent.meh", Mount("/", "ext4", "/dev/nvme0n1p2"), False),
        ("/run/agent.meh", Mount("/run", "tmpfs", "tmpfs"), False),
        ("/home/mara/agent.meh", Mount("/home", "nfs4", "10.0.0.5:/export/home"), True),
        ("/homestead/agent.meh", Mount("/", "ext4", "/dev/nvme0n1p2"), False),
        ("/old/agent.meh", Mount("/old", "nfs", "filer:/vol/old"), True),
        ("/mnt/team share/a.meh", Mount("/mnt/team share", "cifs", "//files.example/team share"), True),
        ("/mnt/c/Users/mara/a.meh", Mount("/mnt/c", "9p", "drvfs"), True),
        ("/workspace/a.meh", Mount("/workspace", "virtiofs", "host-share"), True),
        ("/home/mara/remote/a.meh", Mount("/home/mara/remote", "fuse.sshfs", "mara@server:/srv"), True),
        ("/media/usb/a.meh", Mount("/media/usb", "fuseblk", "/dev/sdb1"), False),
        ("/container/app/a.meh", Mount("/container", "overlay", "overlay"), False),
        ("/container/rootless/a.meh", Mount("/container/rootless", "fuse.fuse-overlayfs", "fuse-overlayfs"), False),
        ("/data/a.meh", Mount("/data", "virtiofs", "over-the-first"), True),
    ],
)
def test_the_deepest_mount_counts(path: str, mount: Mount, shared: bool) -> None:
    assert mount_of(path, SAMPLE) == mount
    assert mount.shared is shared


def test_memory_file_systems_are_told() -> None:
    assert Mount("/run", "tmpfs", "tmpfs").in_memory
    assert not Mount("/", "ext4", "/dev/sda").in_memory


@pytest.mark.parametrize("text", ["", "\n\n", "- - -", "28 1 259:2 / /elsewhere rw - ext4 /dev/sda rw"])
def test_what_says_nothing_of_the_path_gives_none(text: str) -> None:
    assert mount_of("/home/a.meh", text) is None
