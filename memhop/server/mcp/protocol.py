"""Operations, resources and prompts as a server of the protocol.

What carries the messages, and how a request reaches a memory, is not known here: `build_server` is given a `call`. A
call that fails is a result of the tool, with the field, what is allowed and a hint, so that the model can mend it; only
what names no tool, prompt or address at all is an error of the protocol, as the specification has it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from memhop.common.errors import InvalidRequest, NotFound
from memhop.server.http.shapes import schema_of
from memhop.server.mcp import prompts, resources
from memhop.server.operation import Operation
from memhop.server.reply import Reply

Context: TypeAlias = ServerRequestContext[Any, Any]
Call: TypeAlias = Callable[[Context, Operation, "Mapping[str, Any] | None"], Awaitable[Reply]]
ERROR = "memhop/error"  # where the fields of an error are, in `_meta` of a result
_OF_THE_ADDRESS = (InvalidRequest.code, NotFound.code)
_ALWAYS_SHOWN = frozenset(("memhop_recall", "memhop_remember"))  # by clients that show tools only when searched for


def build_server(
    tools: Mapping[str, Operation], call: Call, *, instructions: str, version: str
) -> Server[dict[str, Any]]:
    """A server of the protocol, in both of its forms: with the handshake, and without it.

    Args:
        tools: What is listed and can be called, in this order.
        call: Asks an operation. It must not raise, and must not block the loop.
        instructions: What the client shows its model; see `guidance`.
        version: That of this package.
    """

    async def list_tools(_: Context, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[tool(one) for one in tools.values()])

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        operation = tools.get(params.name)
        if operation is None:
            raise _unknown("tool", params.name)
        return _result(operation, await call(context, operation, params.arguments))

    async def list_resources(_: Context, __: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        return types.ListResourcesResult(
            resources=[
                types.Resource(
                    uri=one.uri, name=one.name, title=one.title, description=one.about, mime_type="text/plain"
                )
                for one in resources.known()
                if not one.names_something
            ]
        )

    async def list_templates(_: Context, __: types.PaginatedRequestParams | None) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(
            resource_templates=[
                types.ResourceTemplate(
                    uri_template=one.uri, name=one.name, title=one.title, description=one.about, mime_type="text/plain"
                )
                for one in resources.known()
                if one.names_something
            ]
        )

    async def read_resource(context: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        found = resources.find(params.uri)
        if found is None:
            raise _unknown("resource", params.uri)
        reply = await call(context, *found)
        if reply.failed:
            ours = reply.data.get("code") not in _OF_THE_ADDRESS
            raise MCPError(types.INTERNAL_ERROR if ours else types.INVALID_PARAMS, reply.shown(), reply.data)
        return types.ReadResourceResult(
            contents=[types.TextResourceContents(uri=params.uri, mime_type="text/plain", text=reply.shown())]
        )

    async def list_prompts(_: Context, __: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        project = types.PromptArgument(name="project", description=prompts.PROJECT_ABOUT, required=False)
        return types.ListPromptsResult(
            prompts=[
                types.Prompt(name=name, title=one.title, description=one.about, arguments=[project])
                for name, one in prompts.available(tools).items()
            ]
        )

    async def get_prompt(_: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        prompt = prompts.available(tools).get(params.name)
        if prompt is None:
            raise _unknown("prompt", params.name)
        try:
            text = prompts.text_of(prompt, tools, params.arguments)
        except InvalidRequest as error:
            raise MCPError(types.INVALID_PARAMS, str(error), error.to_dict()) from None
        said = types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))
        return types.GetPromptResult(description=prompt.about, messages=[said])

    return Server(
        "memhop",
        version=version,
        title="MemHop",
        instructions=instructions,
        get_tool_input_schema=lambda _: None,  # none of ours travels in a header, and finding out would list all tools
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
    )


def tool(operation: Operation) -> types.Tool:
    """An operation as clients are shown it."""
    reads = operation.reads
    return types.Tool(
        name=operation.name,
        title=operation.title,
        description=operation.about,
        input_schema=operation.parameters.schema(),
        output_schema=schema_of(operation.result) if operation.result and operation.structured else None,
        annotations=types.ToolAnnotations(
            title=operation.title,
            read_only_hint=reads,
            destructive_hint=operation.destructive,
            idempotent_hint=operation.idempotent,
            open_world_hint=False,
        ),
        _meta={"anthropic/alwaysLoad": True} if operation.name in _ALWAYS_SHOWN else None,
    )


def _result(operation: Operation, reply: Reply) -> types.CallToolResult:
    """A reply as the protocol has it. One that failed carries no structured content: clients check that against the
    schema of the tool whether it failed or not."""
    said = types.TextContent(type="text", text=reply.shown())
    if reply.failed:
        return types.CallToolResult(content=[said], is_error=True, _meta={ERROR: reply.data})
    if not operation.structured:
        return types.CallToolResult(content=[said])
    return types.CallToolResult(content=[said], structured_content=reply.data)


def _unknown(what: str, name: str) -> MCPError:
    shown = "".join(one if one.isprintable() else "�" for one in name[:80])
    return MCPError(types.INVALID_PARAMS, f"Unknown {what}: {shown}")
