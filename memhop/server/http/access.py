"""`Access`: what a token allows."""

from __future__ import annotations

from typing import NamedTuple

EVERY = "*"  # in the place of a tenant's name


class Access(NamedTuple):
    """What a request may do, as its token says. Made by `Tokens.check` alone.

    Attributes:
        tenant: Of which memory, as `check_tenant` spells it; "*": of every one.
        scopes: Of "read", "write" and "admin"; none implies another.
        token: The public id of the token, for logs and the audit file.
    """

    tenant: str
    scopes: frozenset[str]
    token: str

    def allows(self, tenant: str, scope: str) -> bool:
        """Whether it may.

        Args:
            tenant: As `check_tenant` spells it: another spelling is refused, whoever asks.
        """
        return scope in self.scopes and self.tenant in (EVERY, tenant)
