"""The OpenAPI 3.1 document of the REST interface, made from the table of routes and the operations behind it.

It says nothing but what the source of this version says, so that it may be read without a memory; like everything but
/healthz it needs a token, so that strangers do not even learn what runs here.
"""

from __future__ import annotations

import json
from typing import Any

from memhop.server.http.routes import PREFIX, ROUTES, Route
from memhop.server.http.shapes import schema_of
from memhop.server.operation import ADMIN
from memhop.server.operations import OPERATIONS
from memhop.server.parameters import Fields, Kind, Listed, Table

_ERRORS = {
    "400": "The request cannot be read.",
    "401": "No token, or one that is not known.",
    "403": "The token does not allow it.",
    "404": "There is no such thing.",
    "408": "The request came too slowly.",
    "409": "It was changed meanwhile, or is already as it was asked to be. Nothing was written.",
    "413": "The request is too large.",
    "415": "The body must be application/json.",
    "422": "An argument does not do: `field` names it, `allowed` says what does. Nothing was written.",
    "429": "Too many requests; see Retry-After.",
    "500": "A fault of the server or of the file.",
    "502": "A model service failed.",
    "503": "The memory is busy; see Retry-After.",
    "504": "It took too long; whether it was done shows only later.",
}
_ERROR = {
    "type": "object",
    "required": ["error", "code", "message"],
    "properties": {
        "error": {"type": "string", "description": "The kind of error, such as InvalidRequest."},
        "code": {"type": "integer", "description": "The same as a number, which never changes."},
        "message": {"type": "string"},
        "field": {"type": ["string", "null"], "description": "The argument at fault."},
        "allowed": {"type": ["string", "null"], "description": "What it accepts."},
        "hint": {"type": ["string", "null"], "description": "What to do next."},
    },
}
_TENANT = {
    "name": "Memhop-Tenant",
    "in": "header",
    "description": "Whose memory, for a token of all tenants. Other tokens say it themselves.",
    "schema": {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$"},
}
_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "As the argument `idempotency_key`: asking again with it does nothing again.",
    "schema": {"type": "string", "minLength": 1},
}
_EVENTS = (
    "Changes as server-sent events: `id` is the number to go on from, `event` the type, `data` the change as JSON. "
    "`event: gap` says that older changes are gone. A comment comes when nothing else did for a while."
)


def document(version: str) -> dict[str, Any]:
    """The document, JSON-ready.

    Args:
        version: Of MemHop.
    """
    paths: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        if route.operation in OPERATIONS:
            paths.setdefault(PREFIX + route.path, {})[route.method.lower()] = _operation(route)
    paths[f"{PREFIX}/events"] = {"get": _events()}
    paths[f"{PREFIX}/export"] = {"get": _export()}
    shapes = {one.result for name, one in OPERATIONS.items() if one.result is not None}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "MemHop",
            "version": version,
            "description": "Long-term memory for AI agents. Ids are 16 hex digits as text; times are ISO-8601.",
        },
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "parameters": {"Tenant": _TENANT, "IdempotencyKey": _KEY},
            "responses": {status: _answer(about, "Error") for status, about in _ERRORS.items()},
            "schemas": {
                "Error": _ERROR,
                "Anything": schema_of(None),
                **{shape.__name__: schema_of(shape, nullable=True) for shape in sorted(shapes, key=lambda s: s.__name__)},
            },
        },
    }


def _operation(route: Route) -> dict[str, Any]:
    asked = route.asks
    body = route.method in ("POST", "PATCH")
    shape = asked.result.__name__ if asked.result is not None else "Anything"
    found: dict[str, Any] = {
        "operationId": route.name,
        "summary": asked.title,
        "description": f"{asked.about}\n\nNeeds the scope {asked.scope}.",
        "tags": [route.path.split("/")[1]],
        "parameters": [{"$ref": "#/components/parameters/Tenant"}],
        "responses": {"200": _answer("Done.", shape), **_refusals(body=body)},
    }
    kinds = {name: kind for name, kind in asked.parameters.kinds.items() if name not in route.fixed}
    for name in route.in_path:
        found["parameters"].append(_parameter(name, kinds.pop(name), "path", needed=True))
    needed = [name for name in asked.parameters.needed if name in kinds]
    if "idempotency_key" in kinds:
        found["parameters"].append({"$ref": "#/components/parameters/IdempotencyKey"})
    if not body:
        found["parameters"] += [_parameter(name, kind, "query", needed=name in needed) for name, kind in kinds.items()]
        return found
    whole = asked.parameters.schema()
    schema = {"type": "object", "properties": {name: whole["properties"][name] for name in kinds}}
    schema |= {"additionalProperties": False} | ({"required": needed} if needed else {})
    found["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    return found


def _parameter(name: str, kind: Kind, where: str, *, needed: bool) -> dict[str, Any]:
    found = {"name": name, "in": where, "required": needed, "description": kind.about}
    if isinstance(kind, Table | Fields) or (isinstance(kind, Listed) and isinstance(kind.of, Table | Fields)):
        return found | {"content": {"application/json": {"schema": kind.schema()}}}
    return found | {"schema": kind.schema()}


def _answer(about: str, shape: str) -> dict[str, Any]:
    schema = {"$ref": f"#/components/schemas/{shape}"}
    return {"description": about, "content": {"application/json": {"schema": schema}}}


def _refusals(*, body: bool) -> dict[str, Any]:
    return {
        status: {"$ref": f"#/components/responses/{status}"} for status in _ERRORS if body or status not in ("413", "415")
    }


def _events() -> dict[str, Any]:
    about = {
        "since": "Only events behind this number; without it and Last-Event-ID, those from now on.",
        "project": "Only of this project.",
        "types": "Only of these types; note_* stands for all that begin so.",
    }
    text: dict[str, Any] = {"type": "string", "minLength": 1}
    schemas = {"since": {"type": "string", "pattern": "^[0-9]{1,24}$"}, "project": text}
    schemas["types"] = {"type": "array", "items": text, "maxItems": 100}
    last = {"name": "Last-Event-ID", "in": "header", "description": "As `since`.", "schema": schemas["since"]}
    return {
        "operationId": "get_events",
        "summary": "Listen to changes",
        "description": f"{_EVENTS}\n\nNeeds the scope read.",
        "tags": ["events"],
        "parameters": [
            {"$ref": "#/components/parameters/Tenant"},
            last,
            *({"name": one, "in": "query", "description": about[one], "schema": schemas[one]} for one in about),
        ],
        "responses": {
            "200": {"description": "Events.", "content": {"text/event-stream": {"schema": {"type": "string"}}}},
            **_refusals(body=False),
        },
    }


def _export() -> dict[str, Any]:
    project = {"name": "project", "in": "query", "description": "Only of this project.", "schema": {"type": "string"}}
    return {
        "operationId": "get_export",
        "summary": "Export",
        "description": f"Everything, as JSON lines.\n\nNeeds the scope {ADMIN}.",
        "tags": ["export"],
        "parameters": [{"$ref": "#/components/parameters/Tenant"}, project],
        "responses": {
            "200": {"description": "The export.", "content": {"application/jsonl": {"schema": {"type": "string"}}}},
            **_refusals(body=False),
        },
    }


def written(version: str) -> bytes:
    """The document as JSON."""
    return json.dumps(document(version), ensure_ascii=False, separators=(",", ":")).encode()
