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
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as PathRoute

from memhop.common.errors import Conflict, InvalidRequest, NotFound
from memhop.server.http.access import EVERY, Access
from memhop.server.http.names import check_tenant
from memhop.server.http.refusal import Refusal, bad_request, forbidden
from memhop.server.http.responses import Endpoint, Refused, refusal_of, response_of
from memhop.server.http.routes import BODIES, PREFIX, ROUTES, Route
from memhop.server.parameters import Kind, Listed
from memhop.server.reply import Reply

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from memhop.server.http.calls import Calls

ROOM = 1_048_576  # characters of the data of a reply
TENANT, KEY = "Memhop-Tenant", "Idempotency-Key"
_MOST_NAMES = 200  # in a query


def rest_routes(calls: Calls) -> list[PathRoute]:
    """All of the table. What `nowhere` answers is to come behind all other routes."""
    paths: dict[str, dict[str, Callable[[Request], Awaitable[Response]]]] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method] = partial(_ask, calls, route)
    return [PathRoute(PREFIX + path, Endpoint(methods)) for path, methods in paths.items()]


def nowhere() -> PathRoute:
    """Every other path below PREFIX."""
    return PathRoute(PREFIX + "/{rest:path}", _Nowhere())


def who(request: Request) -> tuple[Access, str]:
    """Who asks, and whose memory is meant; whether the one may ask the other is not looked at.

    Raises:
        Refused: another tenant than that of the token is named. InvalidRequest: none is.
    """
    access: Access = request.scope["state"]["access"]  # the gate let nobody in without
    named = request.headers.get(TENANT)
    if access.tenant == EVERY:
        if named is None:
            raise InvalidRequest("the token is for all tenants", field=TENANT, allowed="the name of one")
        return access, check_tenant(named)
    if named is not None and check_tenant(named) != access.tenant:
        raise Refused(forbidden("the token is not for this tenant"))
    return access, access.tenant


def query_of(request: Request, kinds: Mapping[str, Kind]) -> dict[str, Any]:
    """The query, as texts; of a name that was given several times a list, where `kinds` says that it takes one.

    Raises:
        InvalidRequest: it cannot be read, or a name has two values.
    """
    try:
        text = request.scope["query_string"].decode("ascii")
        pairs = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=_MOST_NAMES)
    except ValueError:
        raise InvalidRequest("it cannot be read", field="query", allowed=f"up to {_MOST_NAMES} names, UTF-8") from None
    found: dict[str, Any] = {}
    for name, value in pairs:
        if isinstance(kinds.get(name), Listed):
            found.setdefault(name, []).append(value)
        elif name in found:
            raise InvalidRequest("it is given twice", field=name[:80], allowed="one value")
        else:
            found[name] = value
    return {name: value[0] if isinstance(value, list) and len(value) == 1 else value for name, value in found.items()}


class _Nowhere:
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        error = Refused(Refusal(404, "NoSuchPath", "there is nothing at this path", f"see {PREFIX}/openapi.json"))
        await refusal_of(error)(scope, receive, send)


async def _ask(calls: Calls, route: Route, request: Request) -> Response:
    access, tenant = who(request)
    arguments = await _arguments(request, route)
    reply = await calls.call(access, tenant, route.asks, arguments, ROOM)
    return response_of(_judged(reply, route))


async def _arguments(request: Request, route: Route) -> dict[str, Any]:
    """What the request says. Of its values nothing is checked yet."""
    kinds = route.asks.parameters.kinds
    given = query_of(request, kinds)
    if route.method in BODIES:
        if given:
            raise InvalidRequest("arguments are in the body", field=next(iter(given))[:80], allowed="a JSON object")
        given = await _body(request)
    decided = {**route.fixed, **{name: request.path_params[name] for name in route.in_path}}
    for name in given:
        if name in decided:
            raise InvalidRequest("the path says it", field=name, allowed="nothing")
    key = request.headers.get(KEY)
    if key is not None and "idempotency_key" in kinds:
        if given.get("idempotency_key", key) != key:
            raise InvalidRequest(f"it differs from {KEY}", field="idempotency_key", allowed="one of them")
        decided["idempotency_key"] = key
    return {**given, **decided}


async def _body(request: Request) -> dict[str, Any]:
    """The body, of which the gate has looked at type and size."""
    raw = await request.body()
    if not raw.strip():
        return {}
    try:
        found = json.loads(raw.decode("utf-8"), parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise Refused(bad_request("the body is no JSON in UTF-8")) from None
    if not isinstance(found, dict):
        raise Refused(bad_request("the body is no JSON object"))
    return found


def _no_number(text: str) -> None:
    raise ValueError(text)  # NaN and Infinity are none in JSON


def _judged(reply: Reply, route: Route) -> Reply:
    """The reply as REST gives it."""
    data = reply.data
    if reply.failed:
        return reply
    if route.method != "GET" and not data.get("dry_run"):
        if "deleted" in data and not data["deleted"]:
            return Reply(NotFound(reply.text or "there was no such thing").to_dict(), failed=True)
        if data.get("changed") is False or data.get("ok") is False:
            now = f"it is {data['tier']}, revision {data.get('rev')}" if data.get("tier") else None
            error = Conflict(data.get("reason") or "nothing was changed", field=None, hint=now)
            return Reply(error.to_dict(), failed=True)
    return Reply(data | {route.text_as: reply.text}) if route.text_as else reply
