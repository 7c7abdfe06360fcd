"""One table in a TOML text, with everything else in it as it is.

`tomlkit` keeps what it reads; the standard library's own parser then proves that the new text says the same but for the
table, and a comparison of lines that none went but those of the table.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from memhop.common.errors import ConfigError, InvalidRequest

_BOM: Final = "\ufeff"


class Table(NamedTuple):
    """A table of texts, numbers and lists, such as `[mcp_servers.memhop]`, by its two keys."""

    path: tuple[str, str]

    def held(self, text: str) -> Any:
        """What the table says, None if there is none. Raises InvalidRequest: the text is no TOML."""
        return _at(_parsed(text), self.path)

    def put(self, text: str, value: Any) -> str:
        """The text with the table. Raises InvalidRequest: no TOML, or its first key is no table."""
        there = self.held(text)
        if there == value:
            return text
        return self._changed(self.take(text) if there is not None else text, value)

    def take(self, text: str) -> str:
        """The text without the table. Raises as `put`."""
        return text if self.held(text) is None else self._changed(text, None)

    def _changed(self, text: str, value: Any) -> str:
        kit = _tomlkit()
        before = _parsed(text)
        holder, name = self.path
        if not isinstance(before.get(holder, {}), dict):
            raise InvalidRequest(f"{holder} is no table", allowed="a table there")
        mark, body, newline = _unwrapped(text)
        try:
            document = kit.parse(body)
            if value is None:
                del document[holder][name]
                if not document[holder]:
                    del document[holder]
            else:
                if holder not in document:
                    document.add(holder, kit.table(is_super_table=True))
                table = kit.table()
                table.update(value)
                document[holder][name] = table
            dumped: str = kit.dumps(document)
        except (kit.exceptions.TOMLKitError, ValueError, TypeError) as error:  # it is an inline table, say
            raise InvalidRequest(f"{error}", allowed="a change by hand") from None
        new = mark + (dumped.replace("\n", newline) if newline == "\r\n" else dumped)
        after = _parsed(new)
        kept = _is_kept(new, text) if value is None else _is_kept(text, new)
        if _at(after, self.path) != value or _rest(after, self.path) != _rest(before, self.path) or not kept:
            raise InvalidRequest(
                "it cannot be changed without touching something else", allowed="a change by hand: see --print"
            )
        return new


def _parsed(text: str) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(text.removeprefix(_BOM))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InvalidRequest(f"{str(error)[:200]}", allowed="TOML") from None


def _unwrapped(text: str) -> tuple[str, str, str]:
    """The byte order mark or "", the text, and its line ends. It has plain ones then, unless they were mixed."""
    mark = _BOM if text.startswith(_BOM) else ""
    body = text.removeprefix(_BOM)
    if "\r\n" in body and body.count("\n") == body.count("\r\n"):
        return mark, body.replace("\r\n", "\n"), "\r\n"
    return mark, body, "\n"


def _at(parsed: dict[str, Any], path: tuple[str, str]) -> Any:
    holder = parsed.get(path[0])
    return holder.get(path[1]) if isinstance(holder, dict) else None


def _rest(parsed: dict[str, Any], path: tuple[str, str]) -> dict[str, Any]:
    holder = {key: value for key, value in parsed.get(path[0], {}).items() if key != path[1]}
    others = {key: value for key, value in parsed.items() if key != path[0]}
    return others | ({path[0]: holder} if holder else {})


def _is_kept(old: str, new: str) -> bool:
    """Whether the lines of the one are lines of the other, in the same order; blank ones apart."""
    lines = iter(new.splitlines())
    return all(line in lines for line in old.splitlines() if line.strip())


def _tomlkit() -> Any:
    try:
        import tomlkit
        import tomlkit.exceptions
    except ImportError:
        raise ConfigError("what changes TOML is not installed", hint="pip install 'memhop[mcp]'") from None
    return tomlkit
