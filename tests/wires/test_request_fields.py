"""The published fields of requests are read from a discovery document, and from proto-plus."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.wires.request_fields import Published, discovery, google_genai, proto_plus

PREFIX = "GoogleCloudAiplatformV1beta1"
TYPES = """
class Tool(proto.Message):
    class Mode(proto.Enum):
        MODE_UNSPECIFIED = 0
        FAST = 1

    class Inner(proto.Message):
        size: int = proto.Field(proto.INT64, number=1)

    mode: Mode = proto.Field(proto.ENUM, number=1, enum=Mode)
    inner: Inner = proto.Field(proto.MESSAGE, number=2, message=Inner)
    type_: "Kind" = proto.Field(proto.ENUM, number=3, enum="Kind")
    sub_tools: MutableSequence["Tool"] = proto.RepeatedField(proto.MESSAGE, number=4, message="Tool")
    by_name: MutableMapping[str, "Tool"] = proto.MapField(proto.STRING, proto.MESSAGE, message="Tool")
    args: struct_pb2.Struct = proto.Field(proto.MESSAGE, number=6, message=struct_pb2.Struct)

class Kind(proto.Enum):
    A = 0
    OURS = 1

class GenerateContentRequest(proto.Message):
    tool: gag_content.Tool = proto.Field(proto.MESSAGE, number=1, message=gag_content.Tool)
"""


@pytest.fixture(name="published")
def _published(tmp_path: Path) -> Published:
    schemas = {
        "GenerateContentRequest": {"tool": {"$ref": f"{PREFIX}ToolOfVertex"}},
        "ToolOfVertex": {
            "type": {"type": "string", "enum": ["A", "THEIRS"]},
            "size": {"type": "string", "format": "int64"},
            "delay": {"type": "string", "format": "google-duration"},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "modes": {"type": "array", "items": {"type": "string", "enum": ["X"]}},
            "topK": {"type": "number", "format": "float"},
            "default": {"type": "any"},
        },
    }
    document = {"schemas": {PREFIX + name: {"properties": p} for name, p in schemas.items()}}
    (tmp_path / "document.json").write_text(json.dumps(document), encoding="utf-8")
    (tmp_path / "types").mkdir()
    (tmp_path / "types" / "content.py").write_text(TYPES, encoding="utf-8")
    published = Published({"GenerateContentRequest": {"tool": "Tool"}, "Tool": {"topK": ""}})
    published.read(discovery(tmp_path / "document.json"))
    published.read(proto_plus(tmp_path / "types"))
    return published


def test_a_message_has_the_fields_of_all_sources(published: Published) -> None:
    assert published.messages["GenerateContentRequest"] == {"tool": "Tool"}
    assert published.messages["Tool"] == {
        "type": "Kind",
        "size": "int64",
        "delay": "duration",
        "labels": "string{}",
        "modes": "ToolModes[]",
        "topK": "number",
        "default": "any",
        "mode": "ToolMode",
        "inner": "ToolInner",
        "subTools": "Tool[]",
        "byName": "Tool{}",
        "args": "any{}",
    }
    assert published.messages["ToolInner"] == {"size": "int64"}


def test_an_enumeration_has_the_words_of_all_sources(published: Published) -> None:
    assert published.enums == {
        "Kind": ["A", "THEIRS", "OURS"],
        "ToolModes": ["X"],
        "ToolMode": ["MODE_UNSPECIFIED", "FAST"],
    }


def test_google_genai_adds_types_and_no_fields() -> None:
    old = {"ThinkingConfig": {"thinkingLevel": ""}}
    published = Published(old)
    published.read(google_genai, ours="ThinkingConfig", theirs="ThinkingConfig")
    assert published.messages == {"ThinkingConfig": {"thinkingLevel": "ThinkingLevel"}}
    assert "MINIMAL" in published.enums["ThinkingLevel"]
