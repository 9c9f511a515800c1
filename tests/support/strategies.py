"""Hypothesis strategies for cassettes and specs."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from harness.cassettes import Cassette, Origin, OriginKind, Request
from harness.dialects import DEFAULT_DIALECT
from harness.proving.strategies import TEXTS, URL, exchanges, values, wild_exchanges
from harness.stream.json_codec import Json


@st.composite
def cassettes(draw: st.DrawFn) -> Cassette:
    """A cassette of one to three exchanges, whole or wild, of any origin.

    Requests have any headers and bytes, or are missing.
    """
    kind: OriginKind = draw(st.sampled_from(["recorded", "loopback", "imported", "written"]))
    names = st.lists(TEXTS, min_size=1, max_size=2).map(tuple)
    fields: dict[str, Any] = draw(
        st.fixed_dictionaries(
            {},
            optional={
                **dict.fromkeys(["date", "model", "source", "note"], TEXTS),
                **dict.fromkeys(["redacted", "allowed"], names),
            },
        )
    )
    origin = Origin(kind, **fields)
    headers = st.dictionaries(
        st.from_regex(r"x-[a-z]{1,5}", fullmatch=True),
        st.lists(TEXTS, min_size=1, max_size=2),
        max_size=2,
    )
    requests = st.none() | st.builds(
        Request,
        st.just("POST"),
        st.just(URL),
        headers,
        st.binary(max_size=30) | TEXTS.map(str.encode),
    )
    drawn = draw(st.lists(exchanges() | wild_exchanges(), min_size=1, max_size=3))
    return Cassette(
        tuple(
            replace(
                exchange, request=draw(requests), headers=draw(headers), reason_phrase=draw(TEXTS)
            )
            for exchange in drawn
        ),
        origin,
    )


def specs(dialect: str = DEFAULT_DIALECT) -> st.SearchStrategy[str]:
    """The text of a valid spec file for a cassette called ``generated``.

    Expectations have any value and no operators.
    """

    def text(names: list[str], expected: list[Json]) -> str:
        lines = ["harness: 1", "cases:"]
        for name, value in zip(names, expected, strict=False):
            lines += [
                f"- case: {name}",
                "  requirement: Something holds.",
                "  features: [text.streaming]",
            ]
            lines += [
                "  source: https://ai.google.dev/api/generate-content",
                "  cassette: generated",
            ]
            lines += ["  expect:", f"    {dialect}: {_yaml_text(value)}"]
        return "".join(f"{line}\n" for line in lines)

    names = st.lists(
        st.from_regex(r"[a-z]{1,8}", fullmatch=True), min_size=1, max_size=3, unique=True
    )
    return st.builds(text, names, st.lists(st.lists(values(), max_size=3), min_size=3, max_size=3))


def _yaml_text(value: Json) -> str:
    """JSON that is also YAML: without surrogate pairs and without invisible characters."""
    text = json.dumps(value, ensure_ascii=False)
    return "".join(char if char.isprintable() else f"\\U{ord(char):08x}" for char in text)
