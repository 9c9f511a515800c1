"""A prompt: what another vendor may not get, and which fields only the own wire has."""

from __future__ import annotations

import pytest

from harness.stream.prompt import (
    AnyPart,
    Call,
    Choice,
    Function,
    Instruction,
    Maker,
    Media,
    Message,
    Native,
    Opaque,
    Prompt,
    Redacted,
    Result,
    Text,
    Thinking,
    fields_of_home,
    media_kind,
    without_foreign,
)

CLAUDE = Maker("anthropic", "claude-x")


def signed(value: str = "QUJD", origin: Maker | None = CLAUDE) -> Opaque:
    return Opaque(value, origin)


def sent(*parts: AnyPart) -> tuple[list[AnyPart], list[str]]:
    prompt = Prompt(messages=(Message("assistant", parts),))
    kept, warnings = without_foreign(prompt, "gemini")
    return [part for message in kept.messages for part in message.parts], warnings


def test_a_signature_goes_only_to_its_maker() -> None:
    parts, warnings = sent(Call("c", "f", {}, place="m[0]", signature=signed()))
    assert parts == [Call("c", "f", {}, place="m[0]")]
    assert warnings == [
        "m[0]: a signature is left out; it is from anthropic (claude-x), and only its maker can"
        " read it"
    ]


@pytest.mark.parametrize("origin", [None, Maker("gemini"), Maker("gemini", "gemini-x")])
def test_a_signature_of_the_vendor_or_of_no_known_one_is_sent(origin: Maker | None) -> None:
    part = Text("a", signature=signed(origin=origin))
    assert sent(part) == ([part], [])


@pytest.mark.parametrize(
    "part",
    [
        Redacted(signed()),
        Native({"type": "x"}, CLAUDE),
        Text("", signature=signed()),
        Thinking("", signature=signed()),
    ],
)
def test_nothing_stays_of_a_part_that_only_its_maker_reads(part: AnyPart) -> None:
    parts, warnings = sent(part, Text("b"))
    assert parts == [Text("b")]
    assert len(warnings) == 1


def test_a_message_without_parts_is_left_out() -> None:
    prompt = Prompt(
        messages=(Message("assistant", (Redacted(signed()),)), Message("user", (Text("b"),)))
    )
    assert without_foreign(prompt, "gemini")[0].messages == (Message("user", (Text("b"),)),)


def test_the_places_of_fields_that_only_the_own_wire_has() -> None:
    mark = {"type": "ephemeral"}
    prompt = Prompt(
        messages=(
            Message(
                "user",
                (
                    Result("c", "f", parts=(Text("a", place="p", cache=mark),), place="r"),
                    Text("b", place="t", more={"citations": {"enabled": True}, "empty": []}),
                ),
            ),
        ),
        instructions=(Instruction((Text("s", place="i", cache=mark),)),),
        tools=(Function("f", strict=True, place="f", cache=mark), Function("g", strict=False)),
        choice=Choice("auto", parallel=False, place="choice.parallel"),
        more={"service_tier": "auto", "container": None},
        unread=("other",),
    )
    assert fields_of_home(prompt) == [
        "i.cache_control",
        "p.cache_control",
        "t.citations",
        "f.strict",
        "f.cache_control",
        "choice.parallel",
        "service_tier",
        "other",
    ]


@pytest.mark.parametrize(
    ("word", "media_type", "kind"),
    [
        ("image", None, "image"),
        ("image", "audio/wav", "audio"),
        ("document", "application/pdf", "document"),
        ("audio", "application/ogg", "audio"),
        ("file", None, "document"),
    ],
)
def test_the_media_type_decides_the_kind(word: str, media_type: str | None, kind: str) -> None:
    assert media_kind(word, media_type) == kind


def test_an_instruction_is_its_pieces() -> None:
    assert Instruction((Text("a"), Text("b"))).text == "ab"


def test_a_wire_that_requires_ids_gets_one() -> None:
    assert Call("c", "f", {}).any_id == "c"
    assert Result("c", "f", wire_id="w").any_id == "w"
    assert Media("image", url="u").signature is None
