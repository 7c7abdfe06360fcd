"""Where the values of a `Config` come from: `memhop.toml`, then the environment; arguments are the caller's business.

    [recall]                      a section and an option of common/settings.py
    limit = 20                    MEMHOP_RECALL_LIMIT=20 in the environment is stronger
    [schemas.default.kinds.bug]   kinds of notes, see repo/schema.py; only in a file, as every table is

The first of these that exists is read, and no other: the path that was asked for, $MEMHOP_CONFIG, memhop.toml in the
working folder, memhop/memhop.toml below $XDG_CONFIG_HOME or ~/.config. What is not known is refused, so that a
misspelt option does not silently stay at its default.

A file in the working folder may come with somebody else's project. It may not name a command that is run, nor where
keys and notices are sent; a file of the user's own may. Keys themselves stand in no file.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import Field, dataclass, fields
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from memhop.common.config import check_path
from memhop.common.errors import ConfigError, InvalidRequest
from memhop.common.settings import Config

FILE_NAME = "memhop.toml"
PREFIX = "MEMHOP_"
_SHORT = {"MEMHOP_FILE": ("memory", "file")}  # older names of variables
_MOST_BYTES = 1024 * 1024
_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")
_OWN_ONLY = frozenset({("model", "key_command"), ("model", "base_url"), ("notify", "allow_remote")})
_KEYS = ("key", "token", "secret", "password")  # in the name of an option: what must not stand in a file
_KEY_HINT = "keys stand in no file: set OPENAI_API_KEY or MEMHOP_API_KEY, or model.key_command"


@dataclass(frozen=True, slots=True)
class Loaded:
    """A `Config` and its origins.

    Attributes:
        path: The file that was read, None if there is none.
        named: Whether somebody named it, by an argument or by $MEMHOP_CONFIG.
        origins: "section.option" -> "default", the path of the file, or the name of the variable.
    """

    config: Config
    path: Path | None
    origins: Mapping[str, str]
    named: bool = False


def load_config(
    path: str | os.PathLike[str] | Mapping[str, Any] | None = None, env: Mapping[str, str] | None = None
) -> Config:
    """The settings of a file and of the environment, for `DB.open(config=...)`.

    Args:
        path: A TOML file; the module says what is in it. Or what such a file would hold, as a dict. None: the first
            that is found where the module says.
        env: Variables, such as `os.environ`. None: none are looked at, and of the files only memhop.toml in the
            working folder.

    Returns:
        Checked settings; all defaults where nothing is said.

    Raises:
        ConfigError: a file is missing, unreadable or no TOML, an option is unknown, or a value does not do. `field`
            names the file or variable and the option.

    Cost: a millisecond. Without a file and variables nothing is read.
    """
    return load(path, env or {}).config


def load(path: str | os.PathLike[str] | Mapping[str, Any] | None, env: Mapping[str, str]) -> Loaded:
    """Like `load_config`, with the origin of each value."""
    found, own = (None, True) if isinstance(path, Mapping) else _file(path, env)
    values: dict[str, dict[str, Any]] = {}
    schemas: Mapping[str, Any] = {}
    origins: dict[str, str] = {}
    if isinstance(path, Mapping):
        values, schemas = _given(dict(path), "config", own)
        origins = dict.fromkeys((f"{section}.{name}" for section in values for name in values[section]), "config")
    elif found is not None:
        values, schemas = _given(_read(found), str(found), own)
        origins = dict.fromkeys((f"{section}.{name}" for section in values for name in values[section]), str(found))
        if schemas:
            origins["schemas"] = str(found)
    for variable, section, name, text in _variables(env):
        values.setdefault(section, {})[name] = _parsed(text, section, name, variable)
        origins[f"{section}.{name}"] = variable
    parts = {section: made(**values.get(section, {})) for section, made in SECTIONS.items()}
    for section, name, _ in options():
        origins.setdefault(f"{section}.{name}", "default")
    named = found is not None and (path is not None or bool(env.get("MEMHOP_CONFIG")))
    return Loaded(Config(**parts, schemas=schemas), found, origins, named)


def options() -> Iterator[tuple[str, str, Field[Any]]]:
    """(section, option, its field) of all there are, in their order."""
    for section, made in SECTIONS.items():
        for option in fields(made):
            yield section, option.name, option


def variable_of(section: str, name: str) -> str:
    """The variable of the environment that sets an option."""
    return f"{PREFIX}{section}_{name}".upper()


def searched(env: Mapping[str, str]) -> list[tuple[Path, bool]]:
    """Where a file is looked for, in order, and whether it is the user's own."""
    places = [(Path(FILE_NAME), False)]
    home = env.get("XDG_CONFIG_HOME") or (env.get("HOME") and os.path.join(env["HOME"], ".config"))
    if home:
        places.append((Path(home) / "memhop" / FILE_NAME, True))
    return places


def _sections() -> dict[str, type[Any]]:
    hints = get_type_hints(Config)
    return {field.name: hints[field.name] for field in fields(Config) if field.name != "schemas"}


SECTIONS = _sections()


# -- the file ------------------------------------------------------------------------------------------------


def _file(path: str | os.PathLike[str] | None, env: Mapping[str, str]) -> tuple[Path | None, bool]:
    """The file to read, and whether it is the user's own choice."""
    wanted = path if path is not None else env.get("MEMHOP_CONFIG") or None
    if wanted is None:
        return next(((place, own) for place, own in searched(env) if place.exists()), (None, True))
    try:
        return check_path(wanted, field="config"), True
    except InvalidRequest as error:
        raise ConfigError(error.message, field="config", allowed=error.allowed) from None


def _read(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"it cannot be read: {error.strerror or error}", field=str(path)) from None
    if len(data) > _MOST_BYTES:
        raise ConfigError("it is too large", field=str(path), allowed=f"at most {_MOST_BYTES:,} bytes")
    import tomllib

    try:
        return tomllib.loads(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ConfigError(f"byte {error.start} is not UTF-8", field=str(path), allowed="TOML") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"it is no TOML: {str(error)[:200]}", field=str(path), allowed="TOML") from None


def _given(data: dict[str, Any], place: str, own: bool) -> tuple[dict[str, dict[str, Any]], Mapping[str, Any]]:
    """The checked options of a table, by section, and its `schemas`, which `repo/schema.py` checks."""
    schemas = _table(data.pop("schemas", {}), f"{place}: schemas")
    values: dict[str, dict[str, Any]] = {}
    for section, name, value in _written(data, place, own):
        values.setdefault(section, {})[name] = value
    return values, schemas


def _written(data: Mapping[str, Any], path: str, own: bool) -> Iterator[tuple[str, str, Any]]:
    for section, table in data.items():
        if section not in SECTIONS:
            if not isinstance(table, dict) and _is_key(str(section)):
                raise ConfigError("a key in a file", field=f"{path}: {section}", hint=_KEY_HINT)
            raise _unknown("section", str(section), [*SECTIONS, "schemas"], path)
        there = {option.name: option for option in fields(SECTIONS[section])}
        for name, value in _table(table, f"{path}: {section}").items():
            place = f"{path}: {section}.{name}"
            if name not in there:
                if _is_key(str(name)):
                    raise ConfigError("a key in a file", field=place, hint=_KEY_HINT)
                raise _unknown("option", str(name), list(there), f"{path}: {section}")
            if not own and (section, name) in _OWN_ONLY:
                hint = "put it into your own file (see `memhop config path`), or name this one with --config"
                raise ConfigError("a file of the working folder may not set this", field=place, hint=hint)
            yield section, name, _checked(value, _hint(section, name), there[name].metadata, place)


def _is_key(name: str) -> bool:
    return any(part in _KEYS for part in name.lower().replace("-", "_").split("_"))


def _unknown(what: str, name: str, known: list[str], place: str) -> ConfigError:
    from difflib import get_close_matches

    near = get_close_matches(name, known, 1)
    meant = f"; {near[0]} was meant?" if near else ""
    return ConfigError(f"there is no {what} {name!r:.60}{meant}", field=place, allowed=", ".join(known))


def _table(value: object, place: str) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    raise ConfigError(f"a {type(value).__name__} is not a table", field=place, allowed="a table")


# -- values --------------------------------------------------------------------------------------------------


def _hint(section: str, name: str) -> Any:
    return get_type_hints(SECTIONS[section])[name]


def _checked(value: object, wanted: Any, bounds: Mapping[str, Any], place: str) -> Any:
    """The value, if it is of the wanted type and within bounds; those of a table bind each value in it."""
    origin = get_origin(wanted)
    if origin is tuple:
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return tuple(value)
        raise ConfigError(f"{value!r:.40} does not do", field=place, allowed="a list of texts")
    if origin is not None:
        inner = get_args(wanted)[1]
        table = _table(value, place)
        return {key: _checked(item, inner, bounds, f"{place}.{key}") for key, item in table.items()}
    allowed = _allowed(wanted, bounds)
    fits = isinstance(value, bool) if wanted is bool else not isinstance(value, bool) and isinstance(value, _as(wanted))
    if not fits or not _within(value, bounds):
        raise ConfigError(f"{value!r:.40} does not do", field=place, allowed=allowed)
    return wanted(value)


def _as(wanted: type) -> tuple[type, ...]:
    return (int, float) if wanted is float else (wanted,)


def _within(value: Any, bounds: Mapping[str, Any]) -> bool:
    if isinstance(value, float) and not math.isfinite(value):
        return False
    if isinstance(value, str) and not value.isprintable():
        return False
    if "choices" in bounds and value not in bounds["choices"]:
        return False
    return not ("low" in bounds and not bounds["low"] <= value <= bounds["high"])


def _allowed(wanted: type, bounds: Mapping[str, Any]) -> str:
    if "choices" in bounds:
        return ", ".join(bounds["choices"])
    what = {bool: "true or false", int: "a whole number", float: "a number", str: "a text on one line"}[wanted]
    return f"{what} from {bounds['low']:g} to {bounds['high']:g}" if "low" in bounds else what


# -- the environment -----------------------------------------------------------------------------------------


def _variables(env: Mapping[str, str]) -> Iterator[tuple[str, str, str, str]]:
    """(variable, section, option, text) of those that are set, an older name before the one that goes with it."""
    for variable, (section, name) in _SHORT.items():
        if env.get(variable):
            yield variable, section, name, env[variable]
    known = {variable_of(section, name): (section, name) for section, name, _ in options()}
    for variable in sorted(env):
        if variable in known:
            yield variable, *known[variable], env[variable]
        elif any(variable.startswith(f"{PREFIX}{section}_".upper()) for section in SECTIONS):
            from difflib import get_close_matches

            near = get_close_matches(variable, known, 1)
            raise ConfigError("there is no such option", field=variable, allowed=near[0] if near else "see the guide")


def _parsed(text: str, section: str, name: str, variable: str) -> Any:
    wanted = _hint(section, name)
    bounds = SECTIONS[section].__dataclass_fields__[name].metadata
    value: Any = text
    if get_origin(wanted) is tuple:
        value = [part.strip() for part in text.split(",") if part.strip()]
    elif get_origin(wanted) is not None:
        raise ConfigError("a table cannot be set here", field=variable, allowed=f"[{section}.{name}] in {FILE_NAME}")
    elif wanted is bool:
        word = text.strip().lower()
        value = True if word in _TRUE else False if word in _FALSE else text
    elif wanted is not str:
        try:
            value = wanted(text)
        except ValueError:
            value = text
    return _checked(value, wanted, bounds, variable)
