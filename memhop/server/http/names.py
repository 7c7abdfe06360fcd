"""Names of tenants, and the one file each of them leads to.

A name is 1 to 64 of the characters A-Z a-z 0-9 _ -, and is looked at before any path is made of it. Names that differ
only in case are one tenant, spelt in lower case: on file systems that ignore case they would share a file unseen, and
then a token for one would open the other.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from memhop.common.errors import InvalidRequest

SUFFIX = ".meh"
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")  # ASCII only: \w and \d would let in letters and digits of all scripts
_DEVICES = frozenset(  # Windows opens the device for these, whatever the suffix
    ("con", "prn", "aux", "nul", *(f"{port}{number}" for port in ("com", "lpt") for number in range(10)))
)
_ALLOWED = "1 to 64 of A-Z, a-z, 0-9, _ and -; no name of a device, such as nul"


def check_tenant(name: object) -> str:
    """The name as it is kept: in lower case.

    Raises:
        InvalidRequest: it is no name. Neither its text nor its length is repeated.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name.lower() in _DEVICES:
        raise InvalidRequest("that is not the name of a tenant", field="tenant", allowed=_ALLOWED)
    return name.lower()


def tenant_path(root: Path, name: object) -> Path:
    """The file of a tenant. It need not be there.

    Args:
        root: The folder of all tenants. It may itself be reached through a symbolic link: who runs the server chose it.

    Raises:
        InvalidRequest: no name; or what has this name in the folder is a symbolic link or no file.

    Whoever can replace files in the folder while the server runs already has all that is in it, so that a check
    before opening is enough.
    """
    path = root.resolve() / f"{check_tenant(name)}{SUFFIX}"
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return path
    except OSError:
        raise InvalidRequest("the memory of this tenant cannot be looked at", field="tenant") from None
    if not stat.S_ISREG(status.st_mode):
        raise InvalidRequest(
            "what has this name is no file of its own",
            field="tenant",
            hint="symbolic links are not followed: mount, or move the file into the folder",
        )
    return path


def tenant_of(path: Path) -> str | None:
    """The tenant whose file this is, for listing a folder. None: it is no tenant's, and is left alone."""
    name = path.name.removesuffix(SUFFIX)
    try:
        ours = path.name.endswith(SUFFIX) and check_tenant(name) == name
    except InvalidRequest:
        return None
    return name if ours else None
