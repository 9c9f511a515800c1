"""What an application with OpenAI's Chat Completions makes of `at`: messages, tools and options."""

import json
import mimetypes

NAMES = (
    *("temperature", "top_p", "max_tokens", "stop", "seed"),
    *("presence_penalty", "frequency_penalty"),
)
AUDIO = {"audio/wav": "wav", "audio/mpeg": "mp3"}


def messages_of(at, signed, *, file=""):
    """All messages. ``signed`` gives the fields of a call with a signature. ``file``: the field for
    the address of a file; without one, a file by URL is left out.
    """
    system = [{"role": "system", "content": at.system}] if at.system else []
    messages = [each for message in at.messages for each in _messages(message, signed, file)]
    return [*system, *messages]


def first_of(at):
    """The messages of a conversation that begins with a prompt."""
    system = [{"role": "system", "content": at.system}] if at.system else []
    return [*system, {"role": "user", "content": at.prompt}]


def tools_of(at):
    """The functions."""
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                **({"parameters": tool.parameters} if tool.parameters else {}),
            },
        }
        for tool in at.tools
    ]


def options_of(at):
    """The settings, the tools, the choice and the form of the answer, without those not given."""
    choice, output = at.choice, at.output
    if isinstance(choice, dict):
        choice = {"type": "function", "function": choice}
    form = None
    if output and output.schema is None:
        form = {"type": "json_object"}
    elif output:
        form = {
            "type": "json_schema",
            "json_schema": {"name": output.name, "schema": output.schema},
        }
    given = {name: at.settings.get(name) for name in NAMES}
    given |= {"tools": tools_of(at) or None, "tool_choice": choice, "response_format": form}
    return {name: value for name, value in given.items() if value is not None}


def google_of(at):
    """What Google's compatible endpoint has beside OpenAI's options."""
    shown = at.thinking.get("shown") or at.thoughts or None
    thinking = {
        "include_thoughts": shown,
        "thinking_budget": at.thinking.get("budget"),
    }
    given = {
        "thinking_config": {name: value for name, value in thinking.items() if value is not None},
        "cached_content": at.google.get("cached"),
        "labels": at.google.get("labels"),
        "safety_settings": [
            {"category": category, "threshold": threshold}
            for category, threshold in at.google.get("safety", {}).items()
        ],
    }
    return {name: value for name, value in given.items() if value}


def _messages(message, signed, file):
    match message:
        case {"system": text}:
            yield {"role": "system", "content": text}
        case {"user": parts}:
            yield {"role": "user", "content": _parts(parts, file)}
        case {"model": parts}:
            yield _answer(parts, signed)
        case {"results": results}:
            for result in results:
                yield {
                    "role": "tool",
                    "tool_call_id": result["call"],
                    "content": _content(result, file),
                }


def _content(result, file):
    if "parts" in result:
        return _parts(result["parts"], file)
    value = {"error": result["value"]} if result.get("failed") else result["value"]
    return value if isinstance(value, str) else json.dumps(value)


def _answer(parts, signed):
    texts = [part for part in parts if isinstance(part, str)]
    calls = [part["call"] for part in parts if isinstance(part, dict) and "call" in part]
    thoughts = [part for part in parts if isinstance(part, dict) and "thought" in part]
    message = {"role": "assistant", "content": "\n".join(texts) if texts else None}
    if thoughts:
        message["reasoning_content"] = "\n".join(part["thought"] for part in thoughts)
    if calls:
        message["tool_calls"] = [
            {
                "id": call["id"],
                "type": "function",
                "function": {"name": call["name"], "arguments": json.dumps(call["arguments"])},
                **(signed(call["signature"]) if "signature" in call else {}),
            }
            for call in calls
        ]
    return message


def _parts(parts, file):
    return [words for part in parts if (words := _part(part, file))]


def _part(part, file):
    if isinstance(part, str):
        return {"type": "text", "text": part}
    ((kind, medium),) = part.items()
    place = medium.get("url") or f"data:{medium['type']};base64,{medium['data']}"
    if kind == "image":
        detail = {"detail": medium["detail"]} if "detail" in medium else {}
        return {"type": "image_url", "image_url": {"url": place, **detail}}
    if kind == "audio" and "data" in medium:
        sound = {"data": medium["data"], "format": AUDIO[medium["type"]]}
        return {"type": "input_audio", "input_audio": sound}
    if "url" in medium and not file:
        return None
    name = medium.get("name")
    if "url" in medium:
        name = f"file{mimetypes.guess_extension(medium['type']) or ''}"
    named = {"filename": name} if name else {}
    key = file if "url" in medium else "file_data"
    return {"type": "file", "file": {key: place, **named, **_details(medium)}}


def _details(medium):
    """The part of a video that is asked for, as litellm has it."""
    names = {"start": "start_offset", "end": "end_offset"}
    found = {names[key]: f"{medium[key]}s" for key in names if key in medium}
    found |= {"fps": medium["fps"]} if "fps" in medium else {}
    return {"format": medium["type"], "video_metadata": found} if found else {}
