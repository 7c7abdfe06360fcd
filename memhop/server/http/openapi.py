"""The OpenAPI 3.1 document of the REST interface, made from the table of routes and the operations behind it.

It says nothing but what the source of this version says. All the same a token is needed for it, as for everything but
/healthz: strangers need not know what runs here.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as PathRoute

from memhop.server.http import download, events
from memhop.server.http.responses import JSON, Endpoint
from memhop.server.http.routes import BODIES, PREFIX, ROUTES, Route
from memhop.server.http.shapes import schema_of
from memhop.server.operation import ADMIN, READ
from memhop.server.parameters import Fields, Kind, Listed, Table, Text

PATH = f"{PREFIX}/openapi.json"
_ERRORS = {
    "400": "The request cannot be read.",
    "401": "No token, or one that is not known.",
    "403": "The token does not allow it.",
    "404": "There is no such thing.",
    "408": "The request came too slowly.",
    "409": "It was changed meanwhile, is already as asked, or the server is not set up for it. Nothing was written.",
    "413": "The request is too large.",
    "414": "The address is too long.",
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
        paths.setdefault(PREFIX + route.path, {})[route.method.lower()] = _operation(route)
    paths[f"{PREFIX}/events"] = {"get": _events()}
    paths[f"{PREFIX}/export"] = {"get": _export()}
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
                **{_name(route): _shape(route) for route in sorted(ROUTES, key=_name)},
            },
        },
    }


def _name(route: Route) -> str:
    """That of the shape of what it gives."""
    if route.of is not None:
        return f"PageOf{route.of.__name__}"
    return route.asks.result.__name__ if route.asks.result is not None else "Anything"


def _shape(route: Route) -> dict[str, Any]:
    found = schema_of(route.asks.result, nullable=True)
    if route.of is not None:
        found["properties"]["items"] = {"type": "array", "items": schema_of(route.of, nullable=True)}
    return found


def _operation(route: Route) -> dict[str, Any]:
    asked = route.asks
    body = route.method in BODIES
    found: dict[str, Any] = {
        "operationId": route.name,
        "summary": asked.title,
        "description": f"{asked.about}\n\nNeeds the scope {asked.scope}.",
        "tags": [route.path.split("/")[1]],
        "parameters": [{"$ref": "#/components/parameters/Tenant"}],
        "responses": {"200": _answer("Done.", _name(route)), **_refusals(body)},
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
    properties = {name: whole["properties"][name] for name in kinds}
    schema = {"type": "object", "properties": properties, "additionalProperties": False, "required": needed}
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


def _refusals(body: bool) -> dict[str, Any]:
    left_out = () if body else ("413", "415")
    return {one: {"$ref": f"#/components/responses/{one}"} for one in _ERRORS if one not in left_out}


def _events() -> dict[str, Any]:
    last = Text("As `since`: a listener that comes back sends it by itself.")
    return {
        "operationId": "get_events",
        "summary": "Listen to changes",
        "description": f"{_EVENTS}\n\nNeeds the scope {READ}.",
        "tags": ["events"],
        "parameters": [
            {"$ref": "#/components/parameters/Tenant"},
            _parameter("Last-Event-ID", last, "header", needed=False),
            *(_parameter(name, kind, "query", needed=False) for name, kind in events.PARAMETERS.items()),
        ],
        "responses": {"200": _stream("Events.", "text/event-stream"), **_refusals(body=False)},
    }


def _export() -> dict[str, Any]:
    return {
        "operationId": "get_export",
        "summary": "Export",
        "description": f"Everything, as JSON lines: a header, then a line for each record.\n\nNeeds the scope {ADMIN}.",
        "tags": ["export"],
        "parameters": [
            {"$ref": "#/components/parameters/Tenant"},
            *(_parameter(name, kind, "query", needed=False) for name, kind in download.PARAMETERS.items()),
        ],
        "responses": {"200": _stream("The export.", download.JSON_LINES), **_refusals(body=False)},
    }


def _stream(about: str, media: str) -> dict[str, Any]:
    return {"description": about, "content": {media: {"schema": {"type": "string"}}}}


def openapi_route(version: str) -> PathRoute:
    """Where to read it. It is made when it is first asked for. `version` is that of MemHop."""

    @cache
    def body() -> bytes:
        return json.dumps(document(version), ensure_ascii=False, separators=(",", ":")).encode()

    async def read(request: Request) -> Response:
        return Response(body(), media_type=JSON)

    return PathRoute(PATH, Endpoint({"GET": read}))
