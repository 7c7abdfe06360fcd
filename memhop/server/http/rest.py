"""REST, made from the table of `routes.py`: what a request says becomes arguments, and a reply becomes a response.

    GET, DELETE          arguments from the query; a key given several times is a list
    POST, PATCH          arguments from the body, one JSON object; Content-Type application/json, also for an empty one,
                         since a form of a foreign page can send everything else without asking
    Idempotency-Key      the argument `idempotency_key`
    Memhop-Tenant        for tokens of all tenants: which one is meant

The body of a response is the data of the reply, or an error in the one shape of all errors. An act that changed nothing
is a 409 that says why, never a success that changed nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as PathRoute

from memhop.common.errors import Conflict, InvalidRequest
from memhop.server.faults import told
from memhop.server.http.access import EVERY, Access
from memhop.server.http.names import check_tenant
from memhop.server.http.routes import PREFIX, ROUTES, Route
from memhop.server.operations import OPERATIONS
from memhop.server.parameters import Listed
from memhop.server.reply import Reply

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from memhop.server.http.calls import Calls

ROOM = 1_048_576  # characters of the data of a reply
BODIES = ("POST", "PATCH")
RETRY_AFTER_S = 1
_MOST_QUERY = 200  # names in a query
_STATUS: Mapping[str, int] = {
    "BadJson": 400, "Unauthorized": 401, "Denied": 403, "NotFound": 404, "NoSuchPath": 404, "WrongMethod": 405,
    "Conflict": 409, "WrongMediaType": 415, "InvalidRequest": 422,
    "ProviderError": 502, "EmbedderError": 502, "ChatError": 502,
    "Busy": 503, "Locked": 503, "Closed": 503, "TimedOut": 504,
}  # fmt: skip


def fault(
    name: str, message: str, *, field: str | None = None, allowed: str | None = None, hint: str | None = None
) -> dict[str, Any]:
    """An error that only HTTP knows, in the shape of all errors. Its code is the status."""
    code = Conflict.code if name == "Conflict" else _STATUS[name]
    return {"error": name, "code": code, "message": message, "field": field, "allowed": allowed, "hint": hint}


def refusal(name: str, message: str, *, headers: Mapping[str, str] | None = None, **more: Any) -> Response:
    """Such an error as a response."""
    return response_of(Reply(fault(name, message, **more), failed=True), headers)


async def _nowhere(request: Request) -> Response:
    return refusal("NoSuchPath", "there is nothing at this path", hint=f"see {PREFIX}/openapi.json")


def rest_routes(calls: Calls) -> list[PathRoute]:
    """All REST routes, and one that answers every other path below PREFIX, which must come last of all."""
    paths: dict[str, dict[str, Route]] = {}
    for route in ROUTES:
        if route.operation not in OPERATIONS:
            continue  # until all operations are written
        paths.setdefault(route.path, {})[route.method] = route
    found = [PathRoute(PREFIX + path, _Path(methods, calls)) for path, methods in paths.items()]
    return [*found, PathRoute(PREFIX + "/{rest:path}", _nowhere)]


class _Path:
    """The methods of one path, as an ASGI application: Starlette hands all methods to it."""

    def __init__(self, methods: Mapping[str, Route], calls: Calls) -> None:
        self._methods = methods
        self._calls = calls

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        response = await self._answer(request)
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        route = self._methods.get(request.method)
        if route is None:
            allowed = ", ".join(self._methods)
            return refusal("WrongMethod", "this path does not take it", allowed=allowed, headers={"Allow": allowed})
        try:
            access, tenant = who(request)
            arguments = await _arguments(request, route)
        except Refused as error:
            return error.response
        except InvalidRequest as error:
            return response_of(told(error, local=False))
        reply = await self._calls.call(access, tenant, route.asks, arguments, ROOM)
        return response_of(_judged(reply, route))


class Refused(Exception):
    """A request that is not looked at any further. `response` is the answer."""

    def __init__(self, name: str, message: str, **more: Any) -> None:
        super().__init__(message)
        self.response = refusal(name, message, **more)


def who(request: Request) -> tuple[Access, str]:
    """Who asks, and whose memory is meant.

    Raises:
        Refused: nobody, or another tenant than the token's. InvalidRequest: no tenant is named.
    """
    access: Access | None = request.scope.get("state", {}).get("access")
    named = request.headers.get("memhop-tenant")
    if access is None:
        raise Refused("Unauthorized", "a token is needed", headers={"WWW-Authenticate": "Bearer"})
    if access.tenant != EVERY:
        if named is not None and named.lower() != access.tenant:
            raise Refused("Denied", "the token is not for this tenant")
        return access, access.tenant
    if named is None:
        raise InvalidRequest("the token is for all tenants", field="Memhop-Tenant", allowed="the name of one")
    return access, check_tenant(named)


async def _arguments(request: Request, route: Route) -> dict[str, Any]:
    """What the request says, not checked yet but for what no operation can see."""
    query = parse_query(request, route)
    given = await _body(request) if route.method in BODIES else query
    if route.method in BODIES and query:
        raise InvalidRequest("arguments are in the body", field=next(iter(query)), allowed="a JSON object as body")
    decided = {**route.fixed, **{name: request.path_params[name] for name in route.in_path}}
    for name in decided.keys() & given.keys():
        raise InvalidRequest("the path says it", field=name, allowed="nothing")
    key = request.headers.get("idempotency-key")
    if key is not None and "idempotency_key" in route.asks.parameters.kinds:
        if given.get("idempotency_key", key) != key:
            raise InvalidRequest("header and body differ", field="idempotency_key", allowed="one of them")
        decided["idempotency_key"] = key
    return {**given, **decided}


def parse_query(request: Request, route: Route | None = None) -> dict[str, Any]:
    """The query, as texts; of a key that was given several times a list, where the operation takes one.

    Raises:
        Refused, InvalidRequest: it cannot be read, or a key has two values.
    """
    kinds = route.asks.parameters.kinds if route is not None else {}
    try:
        pairs = parse_qsl(
            request.scope["query_string"].decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=_MOST_QUERY,
        )
    except ValueError:
        raise InvalidRequest("it cannot be read", field="query", allowed=f"up to {_MOST_QUERY} names, UTF-8") from None
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name not in found:
            found[name] = value
        elif isinstance(kinds.get(name), Listed):
            before = found[name]
            found[name] = [*before, value] if isinstance(before, list) else [before, value]
        else:
            raise InvalidRequest("it is given twice", field=name[:80], allowed="one value")
    return found


async def _body(request: Request) -> dict[str, Any]:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refused("WrongMediaType", "the body must be JSON", field="Content-Type", allowed="application/json")
    raw = await request.body()
    if not raw.strip():
        return {}
    try:
        found = json.loads(raw.decode("utf-8"), parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise Refused("BadJson", "the body is no JSON in UTF-8", allowed="a JSON object") from None
    if not isinstance(found, dict):
        raise Refused("BadJson", "the body is no JSON object", allowed="a JSON object")
    return found


def _no_number(text: str) -> None:
    raise ValueError(text)  # NaN and Infinity are none in JSON


def _judged(reply: Reply, route: Route) -> Reply:
    """The reply as REST gives it."""
    data = reply.data
    if reply.failed:
        return reply
    if data.get("changed") is False and route.method != "GET" and not data.get("dry_run"):
        now = f"it is {data['tier']}, revision {data.get('rev')}" if data.get("tier") else None
        return Reply(fault("Conflict", data.get("reason") or "nothing was changed", hint=now), failed=True)
    return Reply(data | {route.text_as: reply.text}) if route.text_as else reply


def response_of(reply: Reply, headers: Mapping[str, str] | None = None) -> Response:
    """A reply as a response."""
    status = _STATUS.get(reply.data["error"], 500) if reply.failed else 200
    more = dict(headers or {})
    if status in (429, 503):
        more.setdefault("Retry-After", str(RETRY_AFTER_S))
    return Response(encoded(reply.data), status, more, "application/json")


def encoded(data: Any) -> bytes:
    """JSON in UTF-8. Halves of surrogate pairs, which UTF-8 cannot say, stand as escapes."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")
