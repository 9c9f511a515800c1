"""What an application with google-genai makes of `at`: contents and their configuration."""

import base64

from google.genai import types

MODES = {"auto": "AUTO", "none": "NONE", "required": "ANY"}


def contents_of(at):
    """All messages."""
    return [_content(message) for message in at.messages]


def config_of(at, *, native=True):
    """The tools, the settings and all else. ``native``: with the provider's tools."""
    functions = [
        types.FunctionDeclaration(
            name=tool.name, description=tool.description, parameters_json_schema=tool.parameters
        )
        for tool in at.tools
    ]
    tools = [types.Tool(function_declarations=functions)] if functions else []
    given = at.server_tools if native else ()
    tools += [types.Tool.model_validate(tool) for tool in given if "retrieval" not in tool]
    both = {"include_server_side_tool_invocations": True} if functions and tools[1:] else {}
    thinking, google, settings = at.thinking, at.google, at.settings
    shown = thinking.get("shown") or at.thoughts
    return types.GenerateContentConfig(
        system_instruction=at.system or None,
        tools=tools or None,
        tool_config=_tool_config(at.choice, both),
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
        thinking_config=types.ThinkingConfig(
            include_thoughts=shown or None,
            thinking_budget=thinking.get("budget"),
            thinking_level=google.get("thinking_level"),
        ),
        temperature=settings.get("temperature"),
        top_p=settings.get("top_p"),
        top_k=settings.get("top_k"),
        max_output_tokens=settings.get("max_tokens"),
        seed=settings.get("seed"),
        stop_sequences=settings.get("stop"),
        presence_penalty=settings.get("presence_penalty"),
        frequency_penalty=settings.get("frequency_penalty"),
        response_mime_type="application/json" if at.output else None,
        response_json_schema=at.output.schema if at.output else None,
        safety_settings=[
            types.SafetySetting(category=category, threshold=threshold)
            for category, threshold in google.get("safety", {}).items()
        ]
        or None,
        labels=google.get("labels"),
        service_tier=google.get("tier"),
        cached_content=google.get("cached"),
    )


def _tool_config(choice, both):
    calling = None
    if isinstance(choice, dict):
        calling = {"mode": "ANY", "allowed_function_names": [choice["name"]]}
    elif choice:
        calling = {"mode": MODES[choice]}
    return types.ToolConfig(function_calling_config=calling, **both) if calling or both else None


def _content(message):
    if "system" in message:  # a chat has no later system text
        return types.UserContent(message["system"])
    if "results" in message:
        return types.Content(role="user", parts=[_result(each) for each in message["results"]])
    ((role, parts),) = message.items()
    return types.Content(role=role, parts=[_part(part) for part in parts])


def _part(part):
    match part:
        case str():
            return types.Part(text=part)
        case {"thought": text}:
            own = part.get("maker", "google") == "google"
            return types.Part(
                text=text, thought=True, thought_signature=(own and _signature(part)) or None
            )
        case {"call": call}:
            return types.Part(
                function_call=types.FunctionCall(
                    id=call["id"], name=call["name"], args=call["arguments"]
                ),
                thought_signature=_signature(call),
            )
    (medium,) = part.values()
    detail = medium.get("detail")
    given = {
        "media_resolution": {"level": f"MEDIA_RESOLUTION_{detail.upper()}"} if detail else None,
        "video_metadata": _video(medium),
    }
    if "url" in medium:
        file = types.FileData(file_uri=medium["url"], mime_type=medium["type"])
        return types.Part(file_data=file, **given)
    return types.Part(inline_data=_blob(types.Blob, medium), **given)


def _signature(value):
    return base64.b64decode(value["signature"]) if "signature" in value else None


def _video(medium):
    given = {
        f"{name}_offset": f"{medium[name]}s" for name in ("start", "end") if medium.get(name)
    } | ({"fps": medium["fps"]} if medium.get("fps") else {})
    return types.VideoMetadata(**given) if given else None


def _blob(kind, medium):
    return kind(data=base64.b64decode(medium["data"]), mime_type=medium["type"])


def _result(result):
    parts = result.get("parts") or []
    value = result.get("value", "".join(part for part in parts if isinstance(part, str)))
    media = [
        types.FunctionResponsePart(inline_data=_blob(types.FunctionResponseBlob, medium))
        for part in parts
        if not isinstance(part, str)
        for medium in part.values()
    ]
    return types.Part(
        function_response=types.FunctionResponse(
            id=result["call"],
            name=result["name"],
            response={"error" if result.get("failed") else "output": value},
            parts=media or None,
        )
    )
