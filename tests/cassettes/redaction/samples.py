"""Secrets of the tests, with the encodings and places in which the tests put them."""

from __future__ import annotations

import base64
import gzip
import json
import zlib
from collections.abc import Callable
from dataclasses import replace
from urllib.parse import quote, quote_plus

from msgspec.structs import replace as with_fields

from harness.cassettes import Cassette, Exchange, Origin, Request, dumps
from harness.cassettes.redaction.guard import Guard

SECRET = 'sëcr+t/va~l "ue?=1\\7'
NAME = "the value of MY_TOKEN"
SCANNER = Guard({NAME: SECRET})
SHAPES = {
    "AIzaSyA-0123456789-0123456789_012345678": "a Google API key",
    "AQ.Ab8RN6Jx0123456789abcdefghij": "a Google API key of the new form",
    "ya29.a0AfH6SMBx-0123456789abcdef": "an OAuth access token",
    "ya29.c.c0AY_VpZjLEAK-0123456789abcdef": "an OAuth access token",
    "ya29.d.c0AZ4bNpa-0123456789abcdefghij": "an OAuth access token",
    "1//0gABCDEFGHIJKLMNOPQRSTUVWXYZ-_0123456789-0123456": "an OAuth refresh token",
    "GOCSPX-abcdefghijklmnopqrst_-012345": "an OAuth client secret",
    "4/0AX4XfWh-0123456789abcdefghijklm": "an OAuth authorization code",
    "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJl": "a JSON Web Token",
    "sk-ant-api03-abcdefghij-0123456789_abcdef": "an Anthropic API key",
    "sk-or-v1-0123456789abcdef0123456789abcdef": "an OpenRouter API key",
    "sk-proj-abcdefghij-0123456789_abcdef": "an API key of the form sk-",
    "sk-abcdefghij0123456789T3BlbkFJabcdefghijklmnop": "an API key of the form sk-",
    "gsk_abcdefghijklmnopqrst0123456789ABCDEFGHIJ": "a Groq API key",
    "xai-abcdefghijklmnop0123456789ABCDEFGHIJ": "an xAI API key",
    "hf_abcdefghijklmnopqrstuvwxyzABCDEFGH": "a Hugging Face token",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789": "a GitHub token",
    "ghs_abcdefghijklmnopqrstuvwxyz0123456789": "a GitHub token",
    "github_pat_11ABCDEFG0abcdefghijkl_0123456789ab": "a GitHub token",
    "AKIAQ7LEAKL2E34567AB": "an AWS access key",
    "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPJQQJ99BBACYeBjFXJ3w3AAABACOGabcd": "an Azure key",
    "ABSKQmVkcm9ja0FQSUtleS1hYmNkLWF0LTAxMjM0NTY3ODkwMTphYmNkZWZnaGlqa2xtbm9wcXJzdHV2": "a Bedrock API key",
    "bedrock-api-key-YmVkcm9jay5hbWF6b25hd3MuY29tLz9B": "a Bedrock API key",
    "pplx-abcdefghijklmnop0123456789ABCDEFGHIJ": "a Perplexity API key",
    "r8_abcdefghijklmnop0123456789ABCDEFGHIJK": "a Replicate token",
    "fw_abcdefghij0123456789AB": "a Fireworks API key",
    "glpat-abcdefghij_0123456-AB": "a GitLab token",
    "xoxb-012345678901-0123456789012-abcdefghijklmnopqrstuvwx": "a Slack token",
    "sk_live_abcdefghij0123456789ABCD": "a Stripe key",
    "npm_abcdefghijklmnop0123456789ABCDEFGHIJ": "an npm token",
    "pypi-AgEIcHlwaS5vcmcCJDAxMjM0NTY3LTg5YWItY2RlZi0wMTIzLTQ1Njc4OWFi": "a PyPI token",
    "auth_tokens/0123456789abcdef0123456789abcdef": "an ephemeral token of the Live API",
    "ek_0123456789abcdef0123456789abcdef": "an ephemeral OpenAI key",
    "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\n": "a private key",
    "-----BEGIN RSA PRIVATE KEY-----\r\nMIIEvQIBADANBgkqhkiG9w0B\r\n": "a private key",
}

# The encodings of a secret


def every(text: str) -> str:
    """Every character as a JSON escape."""
    return "".join(f"\\u{unit:04X}" for unit in map(ord, text))


def in_base64(offset: int, encode: Callable[[bytes], bytes]) -> Callable[[str], str]:
    """The base64 of a longer text that has the text ``offset`` bytes after a multiple of three."""
    return lambda text: encode(
        b"ab:" + b"(\xfe\xff"[:offset] + text.encode() + b"\xff\xfe)"
    ).decode()


WRITTEN: dict[str, Callable[[str], str]] = {
    "plain": str,
    "URL": lambda text: quote(text, safe=""),
    "URL, small letters": lambda text: (
        quote(text, safe="").replace("%2B", "%2b").replace("%2F", "%2f")
    ),
    "query": quote_plus,
    "URL, every byte": lambda text: "".join(f"%{byte:02X}" for byte in text.encode()),
    "URL, twice": lambda text: quote(quote(text, safe=""), safe=""),
    "JSON": lambda text: json.dumps(text)[1:-1],
    "JSON, not ASCII": lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    "JSON, slashes": lambda text: json.dumps(text)[1:-1].replace("/", "\\/"),
    "JSON, every character": every,
    "JSON in JSON": lambda text: json.dumps(json.dumps(text))[1:-1],
    "JSON in JSON in JSON": lambda text: json.dumps(json.dumps(json.dumps(text)))[1:-1],
    "YAML": lambda text: "".join(
        f"\\x{ord(char):02x}" if ord(char) < 256 else char for char in text
    ),
    **{f"base64 at {offset}": in_base64(offset, base64.b64encode) for offset in range(3)},
    **{
        f"URL-safe base64 at {offset}": in_base64(offset, base64.urlsafe_b64encode)
        for offset in range(3)
    },
    "base64 in JSON": lambda text: base64.b64encode(text.encode()).decode().replace("/", "\\/"),
    "base64 in a URL": lambda text: quote(base64.b64encode(text.encode()).decode(), safe=""),
    "base64 of JSON": lambda text: base64.b64encode(json.dumps({"a": text}).encode()).decode(),
    "base64 of a URL": lambda text: base64.b64encode(f"x={quote_plus(text)}&".encode()).decode(),
    "base64 in lines": lambda text: base64.encodebytes(b"\xff" * 70 + text.encode()).decode(),
}

# The places of a secret

URL = "https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent?alt=sse"
PLAIN = Exchange(
    Request("POST", URL, {"accept": ["*/*"]}, b'{"contents": []}'),
    200,
    {"content-type": ["text/event-stream"]},
    ((1.0, b"{}"),),
)
ORIGIN = Origin("recorded", date="2026-11-21", model="m")


def kept(exchange: Exchange = PLAIN, origin: Origin = ORIGIN) -> str:
    return dumps(Cassette((PLAIN, exchange), origin))


def asked(**changes: object) -> str:
    assert PLAIN.request is not None
    return kept(replace(PLAIN, request=replace(PLAIN.request, **changes)))  # type: ignore[arg-type]  # fields of a request, by name


def answered(*reads: bytes, **headers: str) -> str:
    answered_headers = {name.replace("_", "-"): [value] for name, value in headers.items()}
    return kept(
        replace(
            PLAIN,
            headers=answered_headers,
            reads=tuple((float(number), read) for number, read in enumerate(reads)),
        )
    )


def halves(text: str) -> tuple[bytes, bytes]:
    data = f'data: {{"text": "{text}"}}\n\n'.encode()
    return data[:-16], data[-16:]


PLACES: dict[str, tuple[str, Callable[[str], str]]] = {
    "method": ("exchange 2, method", lambda text: asked(method=f"GET {text}")),
    "URL query": ("exchange 2, URL", lambda text: asked(url=f"{URL}&x={text}")),
    "URL path": ("exchange 2, URL", lambda text: asked(url=f"https://h/a/{text}/b")),
    "request header": (
        "exchange 2, request header user-agent",
        lambda text: asked(headers={"user-agent": [f"me {text}"]}),
    ),
    "response header": (
        "exchange 2, response header server",
        lambda text: answered(b"{}", server=f"x {text}"),
    ),
    "request body": (
        "exchange 2, request body",
        lambda text: asked(body=f'{{"text": "{text}"}}'.encode()),
    ),
    "response body": (
        "exchange 2, response body",
        lambda text: answered(f'{{"text": "{text}"}}'.encode()),
    ),
    "two reads": ("exchange 2, response body, read 1", lambda text: answered(*halves(text))),
    "gzip": (
        "exchange 2, response body, unpacked",
        lambda text: answered(
            gzip.compress(f'{{"text": "{text}"}}'.encode(), mtime=0), content_encoding="gzip"
        ),
    ),
    "deflate": (
        "exchange 2, response body, unpacked",
        lambda text: answered(
            zlib.compress(f'{{"text": "{text}"}}'.encode())[:-2], content_encoding="deflate"
        ),
    ),
    "base64 body": (
        "exchange 2, response body",
        lambda text: answered(b"\xff\xfe" * 77 + text.encode() + b"\xff"),
    ),
    "origin note": ("line 7", lambda text: kept(origin=with_fields(ORIGIN, note=f"about {text}"))),
    "comment": (
        "line 7",
        lambda text: kept().replace(
            "interactions:", f"# {' '.join(text.split(chr(10)))}\ninteractions:"
        ),
    ),
    "escaped line": (
        "exchange 2, response body",
        lambda text: answered(f"\x07\\ {text}\n".encode()),
    ),
    "reason phrase": (
        "exchange 2, reason phrase",
        lambda text: kept(replace(PLAIN, reason_phrase=text)),
    ),
}
