"""The same answer in both spellings and in Code Assist's envelope."""

from __future__ import annotations

from tests.support.normalizing import Json, parts, read

CAMEL = {
    "candidates": [
        {
            "content": {
                "parts": [
                    {"text": "a", "thoughtSignature": "QQ=="},
                    {
                        "functionCall": {
                            "name": "f",
                            "partialArgs": [{"jsonPath": "$.a", "stringValue": "x"}],
                            "willContinue": True,
                        }
                    },
                    {"functionCall": {}},
                    {"inlineData": {"mimeType": "image/png", "data": "AQID"}},
                    {"fileData": {"mimeType": "image/png", "fileUri": "u"}},
                    {"executableCode": {"code": "1"}},
                    {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
                    {
                        "functionResponse": {
                            "name": "f",
                            "response": {"camelKey": 1},
                            "willContinue": True,
                        }
                    },
                ],
                "role": "model",
            },
            "finishReason": "STOP",
            "finishMessage": "m",
            "avgLogprobs": -1,
            "index": 0,
        }
    ],
    "promptFeedback": {"blockReason": "SAFETY", "blockReasonMessage": "m"},
    "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 2, "totalTokenCount": 3},
    "modelVersion": "m",
    "responseId": "r",
    "createTime": "t",
}
SNAKE = {
    "model_version": "m",
    "response_id": "r",
    "create_time": "t",
    "sdk_http_response": None,
    "parsed": None,
    "automatic_function_calling_history": None,
    "usage_metadata": {
        "prompt_token_count": 1,
        "candidates_token_count": 2,
        "total_token_count": 3,
        "thoughts_token_count": None,
    },
    "prompt_feedback": {
        "block_reason": "SAFETY",
        "block_reason_message": "m",
        "safety_ratings": None,
    },
    "candidates": [
        {
            "avg_logprobs": -1,
            "finish_message": "m",
            "finish_reason": "STOP",
            "grounding_metadata": None,
            "index": None,
            "content": {
                "role": "model",
                "parts": [
                    {
                        "thought_signature": "QQ==",
                        "text": "a",
                        "function_call": None,
                        "video_metadata": None,
                    },
                    {
                        "function_call": {
                            "name": "f",
                            "partial_args": [{"json_path": "$.a", "string_value": "x"}],
                            "will_continue": True,
                        }
                    },
                    {"function_call": {"id": None, "args": {}, "name": None}},
                    {"inline_data": {"mime_type": "image/png", "data": "AQID"}},
                    {"file_data": {"mime_type": "image/png", "file_uri": "u"}},
                    {"executable_code": {"code": "1"}},
                    {"code_execution_result": {"outcome": "OUTCOME_OK", "output": "1"}},
                    {
                        "function_response": {
                            "name": "f",
                            "response": {"camelKey": 1},
                            "will_continue": True,
                        }
                    },
                ],
            },
        }
    ],
}


def test_spelling_does_not_matter() -> None:
    def without_raw(events: list[Json]) -> list[Json]:
        return [
            {
                key: value
                for key, value in event.items()
                if key != "raw" or event["kind"] == "finish"
            }
            for event in events
        ]

    plain = without_raw(read(CAMEL))
    assert without_raw(read(SNAKE)) == plain
    assert without_raw(read({"response": SNAKE})) == plain
    assert read({"response": CAMEL}) == read(CAMEL)
    assert len(plain) == 16


def test_every_envelope_of_code_assist_is_read() -> None:
    message = {
        "response": {"modelVersion": "m", **parts({"text": "x"})},
        "traceId": "t",
        "metadata": {},
    }
    assert read(message, message, {**message, "traceId": "u"}) == [
        {"kind": "start", "model": "m"},
        {"kind": "metadata", "name": "trace_id", "raw": {"traceId": "t"}},
        {"kind": "metadata", "name": "envelope", "raw": {"metadata": {}}},
        {"kind": "text", "text": "x"},
        {"kind": "text", "text": "x"},
        {"kind": "metadata", "name": "trace_id", "raw": {"traceId": "u"}},
        {"kind": "text", "text": "x"},
    ]
