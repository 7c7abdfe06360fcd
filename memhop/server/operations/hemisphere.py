"""The seventeen tools of an older note memory, by their names, arguments and shapes."""

from __future__ import annotations

from memhop.server.operation import Operation

HEMISPHERE: dict[str, Operation] = {}
