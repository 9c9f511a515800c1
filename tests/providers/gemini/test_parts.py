"""The parts of an answer."""

from __future__ import annotations

import pytest

from tests.support.normalizing import Json, call, content, parts

IMAGE = {"inlineData": {"mimeType": "image/png", "data": "AQID"}}
FILE = {"fileData": {"fileUri": "gs://b/f", "mimeType": "video/mp4", "displayName": "f"}}
CODE = {"executableCode": {"id": "c1", "language": "PYTHON", "code": "1+1"}}
CODE_RESULT = {"codeExecutionResult": {"id": "c1", "outcome": "OUTCOME_OK", "output": "2"}}
TOOL_CALL = {"toolCall": {"id": "t1", "toolType": "GOOGLE_SEARCH_WEB", "args": {"queries": ["x"]}}}
TOOL_RESPONSE = {"toolResponse": {"id": "t1", "toolType": "GOOGLE_SEARCH_WEB", "response": {}}}

PARTS: list[tuple[Json, list[Json]]] = [
    ({"text": "x"}, [{"kind": "text", "text": "x"}]),
    ({"text": ""}, [{"kind": "text", "text": ""}]),
    ({"text": " x\n"}, [{"kind": "text", "text": " x\n"}]),
    (
        {"text": "x", "thoughtSignature": "QQ=="},
        [{"kind": "text", "text": "x", "signature": "QQ=="}],
    ),
    ({"text": "x", "thought": True}, [{"kind": "reasoning", "text": "x"}]),
    ({"text": "x", "thought": False}, [{"kind": "text", "text": "x"}]),
    (
        {"text": "", "thought": True, "thoughtSignature": "QQ=="},
        [{"kind": "reasoning", "text": "", "signature": "QQ=="}],
    ),
    ({"thoughtSignature": "QQ=="}, [{"kind": "text", "text": "", "signature": "QQ=="}]),
    ({"thought": True}, [{"kind": "reasoning", "text": ""}]),
    ({"text": "x", "thoughtSignature": ""}, [{"kind": "text", "text": "x"}]),
    ({"functionCall": {"name": "f"}, "thoughtSignature": ""}, call(1, "f", {})),
    ({"text": None, "functionCall": None, "thought": None}, []),
    ({}, []),
    (IMAGE, [{"kind": "media", "mime_type": "image/png", "raw": IMAGE, "data": "AQID"}]),
    (FILE, [{"kind": "media", "mime_type": "video/mp4", "raw": FILE, "uri": "gs://b/f"}]),
    (
        {**IMAGE, "thought": True},
        [
            {
                "kind": "media",
                "mime_type": "image/png",
                "raw": {**IMAGE, "thought": True},
                "data": "AQID",
                "thought": True,
            }
        ],
    ),
    (CODE, [{"kind": "code", "code": "1+1", "raw": CODE}]),
    (
        CODE_RESULT,
        [{"kind": "code_result", "outcome": "OUTCOME_OK", "output": "2", "raw": CODE_RESULT}],
    ),
    (
        {"codeExecutionResult": {"outcome": 2}},
        [
            {
                "kind": "code_result",
                "outcome": "#2",
                "output": "",
                "raw": {"codeExecutionResult": {"outcome": 2}},
            }
        ],
    ),
    (TOOL_CALL, [{"kind": "server_call", "raw": TOOL_CALL}]),
    (TOOL_RESPONSE, [{"kind": "server_result", "raw": TOOL_RESPONSE}]),
    (
        {"functionResponse": {"id": "f1", "name": "f", "response": {"output": 4}}},
        [{"kind": "tool_result", "id": "f1", "name": "f", "response": {"output": 4}}],
    ),
    (
        {
            "functionResponse": {
                "name": "f",
                "response": {"error": "gone"},
                "scheduling": "SILENT",
                "odd": 1,
            }
        },
        [
            {"kind": "tool_result", "name": "f", "response": {"error": "gone"}, "error": "gone"},
            {
                "kind": "annotation",
                "name": "part",
                "raw": {"functionResponse": {"scheduling": "SILENT"}},
            },
            {"kind": "unknown", "where": "functionResponse field odd", "raw": {"odd": 1}},
        ],
    ),
    ({"functionCall": {"name": "f"}}, call(1, "f", {})),
    ({"functionCall": {"name": "f", "args": None, "will_continue": None}}, call(1, "f", {})),
    ({"functionCall": {"id": "a", "name": "f", "args": {"x": 1}}}, call(1, "f", {"x": 1}, id="a")),
    ({"functionCall": {"name": "f", "args": '{"x": [1]}'}}, call(1, "f", {"x": [1]})),
    ({"functionCall": {"args": {"x": 1}}}, call(1, "", {"x": 1})),
    (
        {"functionCall": {"name": "f", "args": "{x", "id": 5, "odd": {}}},
        [
            {"kind": "call_start", "call": 1, "name": "f"},
            {"kind": "call_invalid", "call": 1, "text": "{x"},
            {"kind": "unknown", "where": "call field odd", "raw": {"odd": {}}},
            {"kind": "unknown", "where": "call field id", "raw": {"id": 5}},
        ],
    ),
    (
        {"text": "x", "functionCall": {"name": "f"}, "thoughtSignature": "S"},
        [{"kind": "text", "text": "x"}, *call(1, "f", {}, signature="S")],
    ),
    (
        {"functionCall": {"name": "f"}, "thought": True},
        [*call(1, "f", {}), {"kind": "annotation", "name": "part", "raw": {"thought": True}}],
    ),
    ({"qux": {"a": 1}}, [{"kind": "unknown", "where": "part kind qux", "raw": {"qux": {"a": 1}}}]),
    (
        {"text": "x", "qux": 1},
        [
            {"kind": "text", "text": "x"},
            {"kind": "unknown", "where": "part field qux", "raw": {"qux": 1}},
        ],
    ),
    (
        {"text": 5, "thoughtSignature": "S"},
        [
            {
                "kind": "unknown",
                "where": "part field text",
                "raw": {"text": 5, "thoughtSignature": "S"},
            }
        ],
    ),
    (
        {"inlineData": "AQID"},
        [{"kind": "unknown", "where": "part field inlineData", "raw": {"inlineData": "AQID"}}],
    ),
    ("text", [{"kind": "unknown", "where": "part", "raw": "text"}]),
]
ASIDES = (
    *(
        "videoMetadata",
        "mediaResolution",
        "partMetadata",
        "audioTranscription",
        "mediaProcessing",
        "speechMetadata",
    ),
    *("documentMetadata", "spreadsheetMetadata", "audioMetadata"),
)


@pytest.mark.parametrize(("part", "expected"), PARTS)
def test_parts(part: Json, expected: list[Json]) -> None:
    assert content(parts(part)) == expected


@pytest.mark.parametrize("name", ASIDES)
def test_fields_beside_a_part_follow_it(name: str) -> None:
    annotation = {"kind": "annotation", "name": "part", "raw": {name: {"a": 1}}}
    assert content(parts({"text": "x", name: {"a": 1}})) == [
        {"kind": "text", "text": "x"},
        annotation,
    ]


@pytest.mark.parametrize(
    "part",
    [
        IMAGE,
        FILE,
        CODE,
        CODE_RESULT,
        TOOL_CALL,
        TOOL_RESPONSE,
        {"functionCall": {"name": "f"}},
        {"functionResponse": {"name": "f"}},
    ],
)
@pytest.mark.parametrize("key", ["thoughtSignature", "thought_signature"])
def test_every_kind_of_part_carries_its_signature(part: Json, key: str) -> None:
    assert [
        event["signature"]
        for event in content(parts({key: "QUJD", **part}))
        if "signature" in event
    ] == ["QUJD"]
