"""Reads the local files that a Request names and replaces the paths by their bytes.

The translation itself reads no file.
"""

from __future__ import annotations

from collections.abc import Mapping
from mimetypes import guess_type
from pathlib import Path
from typing import Any, Final

from harness.dialects.unified_llm.messages import LOCAL_PATH
from harness.stream.generation import TranslationError

MEDIA: Final = ("image", "audio", "document")


def with_files(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the Request with the data of its files; ``request`` is not changed.

    Malformed messages are left unchanged, because the translation refuses them. Raises
    `TranslationError` for a file that can't be read.
    """
    messages = request.get("messages")
    if not isinstance(messages, list):
        return dict(request)
    return {
        **request,
        "messages": [
            _message(message, f"messages[{index}]") for index, message in enumerate(messages)
        ],
    }


def _message(message: Any, place: str) -> Any:
    content = message.get("content") if isinstance(message, Mapping) else None
    if not isinstance(content, list):
        return message
    return {
        **message,
        "content": [_part(part, f"{place}.content[{index}]") for index, part in enumerate(content)],
    }


def _part(part: Any, place: str) -> Any:
    kind = part.get("kind", part.get("type")) if isinstance(part, Mapping) else None
    media: Any = part.get(kind) if kind in MEDIA else None
    url = media.get("url") if isinstance(media, Mapping) else None
    if not isinstance(url, str) or not LOCAL_PATH.match(url):
        return part
    try:
        data = Path(url.removeprefix("file://")).expanduser().read_bytes()
    except (OSError, RuntimeError) as error:
        raise TranslationError(f"{place}.{kind}.url", f"{url!r} cannot be read: {error}") from None
    known = media.get("media_type") or guess_type(url)[0]
    rest = {key: value for key, value in media.items() if key not in ("url", "media_type")}
    return {**part, kind: {**rest, "data": data, **({"media_type": known} if known else {})}}
