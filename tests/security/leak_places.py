"""Kinds of secrets, and the places of a recording that can contain one."""

from __future__ import annotations

import base64
import gzip
import html
import json
import re
import textwrap
import zlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from urllib.parse import quote, quote_plus

from harness.cassettes import Cassette, Exchange, Origin, Request
from harness.stream.websocket import Message, Side, write_message

VARIABLE = "MY_LEAK_TOKEN"
ENVIRONMENT = 'hunter"2-é/environ-7731'
KINDS = {
    "environment": f"it is {ENVIRONMENT} there",
    "Google API key": "it is AIzaSyLEAK-456789-0123456789_0123456789 there",
    "OAuth token": "Authorization: Bearer ya29.a0LEAKH6SMBx-0123456789abcdef there",
    "OAuth token of a service account": "it is ya29.c.c0LEAKpZjLEAK-0123456789ab there",
    "OAuth token of an identity": "it is ya29.d.c0LEAKbNpLEAK-0123456789ab there",
    "Google API key of the new form": "it is AQ.Ab8LEAKJxLEAK-0123456789ab there",
    "OAuth refresh token": f"it is 1//0gLEAK{'abLEAK-_01' * 4} there",
    "OAuth client secret": "it is GOCSPX-abLEAKdefLEAK-0123456789 there",
    "OAuth code": "it is 4/0AXLEAKWhLEAK-0123456789ab there",
    "JSON Web Token": "it is eyJhbGciOiJS.eyJzLEAKOiIx.c2lLEAK0dXJlLEAK there",
    "private key": "it is -----BEGIN PRIVATE KEY----- MIILEAKBADLEAKhkiG9w0B there",
    "key of another service": "it is sk-ant-api03-abLEAKdefLEAK-0123456789 there",
    "secret name": 'it is {"access_token": "opaque\\"tail-LEAK-7731"} there',
}
"""A text with a secret of each kind."""
PARTS = (
    "environ-7",
    "SyLEAK-456",
    "0123456789_01",
    "a0LEAKH6S",
    "tail-LEAK",
    "LEAKpZjLEAK",
    "LEAKbNpLEAK",
    "b8LEAKJxLE",
    "abLEAK-_01",
    "abLEAKdefL",
    "XLEAKWhLEA",
    "eyJzLEAKOi",
    "c2lLEAK0dX",
    "MIILEAKBAD",
)
"""Parts of the secrets; none of them may be shown."""


def shown(output: str | bytes) -> list[str]:
    """The parts of secrets in an output, also wrapped, escaped, packed or in base64."""
    data = output.encode("utf-8", "surrogatepass") if isinstance(output, str) else output
    texts = [data, html.unescape(data.decode("utf-8", "replace")).encode()]
    texts += [re.sub(rb"\\[rn]|\\|\s", b"", text) for text in texts]
    texts += [re.sub(rb'"\}\]\}[",]*(?:data:|<)\{"parts":\[\{"\w+":"', b"", text) for text in texts]
    texts += [re.sub(rb"%([0-9A-F]{2})", lambda code: bytes.fromhex(code[1].decode()), texts[-1])]
    runs = {run for text in texts for run in re.findall(rb"[0-9A-Za-z+/]{12,}", text)}
    for run in runs:
        texts += [base64.b64decode(run[at : at + (len(run) - at) // 4 * 4]) for at in range(4)]
    packed = [text for text in texts if text[:2] == b"\x1f\x8b"]
    texts += [zlib.decompressobj(wbits=31).decompress(text) for text in packed]
    every = b"\0".join({*texts})
    return [part for part in PARTS if part.encode() in every]


URL = (
    "https://generativelanguage.googleapis.com/v1beta/models/gemini-x:streamGenerateContent?alt=sse"
)
PLAIN = Exchange(
    Request("POST", URL, {"content-type": ["application/json"]}, b'{"contents": []}'),
    200,
    {"content-type": ["text/event-stream"]},
    ((1.0, b'data: {"candidates": []}\n\n'),),
    "complete",
)
Place = Callable[[str], Cassette]


def cassette(exchange: Exchange, **origin: Any) -> Cassette:
    return Cassette((exchange,), Origin("recorded", date="2026-11-22", **origin))


def asked(**changes: object) -> Cassette:
    assert PLAIN.request is not None
    return cassette(replace(PLAIN, request=replace(PLAIN.request, **changes)))  # type: ignore[arg-type]  # fields of a request, by name


def posted(value: object) -> Cassette:
    body = value if isinstance(value, str) else json.dumps(value)
    return asked(body=body.encode())


def answered(*reads: str | bytes, **headers: str) -> Cassette:
    named = {name.replace("_", "-"): [value] for name, value in headers.items()}
    data = [read.encode() if isinstance(read, str) else read for read in reads]
    return cassette(replace(PLAIN, headers=named, reads=tuple((1.0, read) for read in data)))


def part(**fields: object) -> str:
    return f"data: {json.dumps({'candidates': [{'content': {'parts': [fields]}}]})}\r\n\r\n"


def wrap(text: str) -> list[str]:
    return textwrap.wrap(text, 11, drop_whitespace=False, replace_whitespace=False)


def pieces(name: str, text: str) -> str:
    """A stream that gives the text in pieces."""
    lines = wrap(text)
    return "".join(f"data: {json.dumps({'parts': [{name: piece}]})}\r\n\r\n" for piece in lines)


def session(*messages: tuple[Side, object], close: str = "") -> Cassette:
    """A connection with these messages, and the text of its close."""
    sent = [Message(side, json.dumps(value).encode()) for side, value in messages]
    sent += [Message("server", close.encode(), "close", 1011)] if close else []
    return cassette(
        replace(
            PLAIN,
            request=Request("GET", "wss://h/ws/a.BidiGenerateContent", {}, b""),
            status=101,
            headers={},
            reads=tuple((1.0, write_message(message)) for message in sent),
        )
    )


def wrapped(text: str) -> str:
    """A text with a line break inside each part of a secret."""
    for secret in PARTS:
        text = text.replace(secret, f"{secret[:5]}\n  {secret[5:]}")
    return text


def nested(text: str, depth: int) -> str:
    for _ in range(depth):
        text = json.dumps({"inner": text})
    return text


def in_lines(text: str) -> str:
    """The base64 of a text, with 76 characters a line."""
    return base64.encodebytes(b"\xfe" * 50 + text.encode()).decode()


def halves(text: str) -> tuple[bytes, bytes]:
    data = part(text=text).encode()
    return data[:-50], data[-50:]


MULTIPART = (
    '--b\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{text}\r\n--b\r\n'
    'Content-Disposition: form-data; name="b"\r\n\r\nb\r\n--b--\r\n'
)

RECORDED: dict[str, Place] = {
    "method": lambda text: asked(method=f"GET {text}"),
    "URL user": lambda text: asked(url=f"https://{quote(text)}:x@h/a"),
    "URL host": lambda text: asked(url=f"https://{quote(text)}.example/a"),
    "URL path": lambda text: asked(url=f"https://h/{quote(text)}/b"),
    "URL parameter with a secret name": lambda text: asked(url=f"{URL}&key={quote(text)}"),
    "URL parameter": lambda text: asked(url=f"{URL}&x={quote_plus(text)}"),
    "URL fragment": lambda text: asked(url=f"{URL}#x={quote_plus(text)}"),
    "request header that is dropped": lambda text: asked(headers={"authorization": [text]}),
    "request header that is kept": lambda text: asked(headers={"user-agent": [f"a {text}"]}),
    "request header twice": lambda text: asked(headers={"accept": ["*/*", text]}),
    "request header's name": lambda text: asked(headers={f"user-agent {text}": ["x"]}),
    "prompt": lambda text: posted({"contents": [{"parts": [{"text": text}]}]}),
    "system instruction": lambda text: posted({"systemInstruction": {"parts": [{"text": text}]}}),
    "tool's description": lambda text: posted({"tools": [{"description": text}]}),
    "call in a prompt": lambda text: posted({"functionCall": {"args": {"q": text}}}),
    "tool's result": lambda text: posted({"functionResponse": {"response": {"output": text}}}),
    "JSON in JSON": lambda text: posted(nested(text, 2)),
    "JSON in JSON in JSON": lambda text: posted(nested(text, 3)),
    "JSON five deep": lambda text: posted(nested(text, 5)),
    "key of an object": lambda text: posted({text: 1}),
    "string under a secret name": lambda text: posted({"api_key": text}),
    "list under a secret name": lambda text: posted({"clientSecret": ["a", [text]]}),
    "object under a secret name": lambda text: posted({"authorization": {"a": {"b": text}}}),
    "name with escapes": lambda text: posted(
        json.dumps({"api_key": text}).replace("api_key", "\\u0061pi\\u005fkey")
    ),
    "form": lambda text: posted(f"a=b&client_secret={quote_plus(text)}"),
    "form with another name": lambda text: posted(f"a=b&q={quote_plus(text)}"),
    "JSON in a form": lambda text: posted(f"a={quote_plus(json.dumps({'id_token': text}))}"),
    "form in JSON": lambda text: posted({"body": f"a=b&token={quote_plus(text)}"}),
    "URL in JSON": lambda text: posted({"uri": f"https://h/?key={quote_plus(text)}"}),
    "part of a multipart body": lambda text: posted(MULTIPART.format(name="token", text=text)),
    "other part": lambda text: posted(MULTIPART.format(name="a", text=text)),
    "packed request": lambda text: asked(
        headers={"content-encoding": ["gzip"]}, body=gzip.compress(text.encode(), mtime=0)
    ),
    "media in a prompt": lambda text: posted(
        {"inlineData": {"data": base64.b64encode(text.encode()).decode()}}
    ),
    "binary request": lambda text: asked(body=b"\xff\xfe" + text.encode()),
    "response header that is dropped": lambda text: answered("{}", set_cookie=text),
    "response header that is kept": lambda text: answered("{}", server=f"a {text}"),
    "stderr of a program": lambda text: answered("{}", x_stderr=f"error: {text}"),
    "reason phrase": lambda text: cassette(replace(PLAIN, reason_phrase=text)),
    "whole answer": lambda text: answered(json.dumps({"text": text})),
    "answer that is a page": lambda text: answered(f"<html>{html.escape(text)}</html>"),
    "answer with an error": lambda text: answered(json.dumps({"error": {"message": text}})),
    "frame of text": lambda text: answered(part(text=text)),
    "frame of a thought": lambda text: answered(part(text=text, thought=True)),
    "frame with a call": lambda text: answered(part(functionCall={"args": {"q": text}})),
    "frame of code": lambda text: answered(part(executableCode={"code": f'x = "{text}"'})),
    "frame of a result": lambda text: answered(part(codeExecutionResult={"output": text})),
    "frame with a source": lambda text: answered(part(groundingChunks=[{"uri": text}])),
    "frame in two reads": lambda text: answered(*halves(text)),
    "frame that was cut": lambda text: answered(part(text=text).partition(" there")[0]),
    "comment of a stream": lambda text: answered(f": {text}\n\n"),
    "name of an event": lambda text: answered(f"event: {text}\ndata: {{}}\n\n"),
    "pieces of text": lambda text: answered(pieces("text", text)),
    "pieces of code": lambda text: answered(pieces("code", text)),
    "pieces of arguments": lambda text: answered(pieces("stringValue", text)),
    "pieces of a refusal": lambda text: answered(pieces("refusal", text)),
    "pieces of reasoning": lambda text: answered(pieces("reasoning_content", text)),
    "pieces of a run's text": lambda text: answered(pieces("text_delta", text)),
    "pieces of a run's thoughts": lambda text: answered(pieces("thinking_delta", text)),
    "lines in a text": lambda text: answered(part(text=wrapped(text))),
    "base64 in lines": lambda text: answered(part(text=in_lines(text))),
    "base64 in lines in pieces": lambda text: answered(pieces("text", in_lines(text))),
    "base64 in JSON in JSON": lambda text: answered(part(text=nested(in_lines(text), 2))),
    "packed answer": lambda text: answered(
        gzip.compress(part(text=text).encode(), mtime=0), content_encoding="gzip"
    ),
    "second line of a program": lambda text: answered('{"type": "init"}\n', json.dumps([text])),
    "message of a client in a session": lambda text: session(("client", {"setup": text})),
    "message of a server in a session": lambda text: session(
        ("client", {}), ("server", {"serverContent": {"modelTurn": {"parts": [{"text": text}]}}})
    ),
    "token in the setup of a session": lambda text: session(
        ("client", {"setup": {"sessionToken": text}})
    ),
    "pieces of text in a session": lambda text: session(
        *(("server", {"parts": [{"text": piece}]}) for piece in wrap(text))
    ),
    "end of a session": lambda text: session(("server", {}), close=text),
    "client": lambda text: cassette(PLAIN, client=text),
    "model": lambda text: cassette(PLAIN, model=text),
    "source": lambda text: cassette(PLAIN, source=f"https://h/?token={quote_plus(text)}"),
    "note": lambda text: cassette(PLAIN, note=text),
}
