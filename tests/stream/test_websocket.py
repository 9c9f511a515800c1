"""A log of messages is read as it was written, and its frames do not depend on the reads."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import CassetteError
from harness.stream.framing import FramingError
from harness.stream.websocket import Message, MessageFramer, is_log, read_messages, write_message

PRETTY = b'{\n  "setupComplete": {}\n}\n'
SESSION = [
    Message("client", b'{"setup":{}}'),
    Message("server", PRETTY, "binary"),
    Message("client", b""),
    Message("server", b"not JSON"),
    Message("server", b"two\n> lines"),
    Message("server", b'{"a": [\n}\n'),
    Message("server", b"\xff\x00", "binary"),
    Message("client", b"[1,\n2]"),
    Message("server", b'He said "no".\n', "close", 1011),
    Message("client", b"", "close"),
]
DATA = st.one_of(
    st.binary(max_size=20),
    st.lists(st.sampled_from([b"{", b"}", b"\n", b"> ", b"<b ", b"<close ", b'"a":1', b"x"])).map(
        b"".join
    ),
    st.sampled_from([PRETTY, b'{"serverContent": {}}', b"{}"]),
)
MESSAGES = st.one_of(
    st.builds(
        Message, st.sampled_from(["client", "server"]), DATA, st.sampled_from(["text", "binary"])
    ),
    st.builds(
        Message,
        st.sampled_from(["client", "server"]),
        st.text(max_size=9).map(str.encode),
        st.just("close"),
        st.one_of(st.none(), st.integers(1000, 4999)),
    ),
)


def log_of(messages: list[Message]) -> bytes:
    return b"".join(map(write_message, messages))


def test_form() -> None:
    assert log_of(SESSION) == (
        b'> {"setup":{}}\n'
        b'<b {\n  "setupComplete": {}\n}\n\n'
        b"> \n"
        b"< not JSON\n"
        b"<64 dHdvCj4gbGluZXM=\n"
        b"<64 eyJhIjogWwp9Cg==\n"
        b"<b64 /wA=\n"
        b"> [1,\n2]\n"
        b'<close 1011 "He said \\"no\\".\\n"\n'
        b'>close - ""\n'
    )


@given(st.lists(MESSAGES, max_size=8))
def test_what_was_written_is_read(messages: list[Message]) -> None:
    assert read_messages(log_of(messages)) == messages


@given(st.lists(MESSAGES, max_size=8), st.data())
def test_frames_do_not_depend_on_reads(messages: list[Message], data: st.DataObject) -> None:
    body = log_of(messages)[: data.draw(st.integers(0, 300))]
    whole = MessageFramer()
    cut = MessageFramer()
    expected = [*whole.feed(body), *whole.close()]
    pieces = [frame for byte in body for frame in cut.feed(bytes([byte]))]
    assert [*pieces, *cut.close()] == expected


def test_one_frame_for_each_message() -> None:
    framer = MessageFramer()
    frames = [*framer.feed(log_of(SESSION), 5.0), *framer.close()]
    assert [frame.json for frame in frames] == [
        {"from": "client", "message": {"setup": {}}},
        {"from": "server", "message": {"setupComplete": {}}},
        {"from": "client", "text": ""},
        {"from": "server", "text": "not JSON"},
        {"from": "server", "text": "two\n> lines"},
        {"from": "server", "text": '{"a": [\n}\n'},
        {"from": "server", "text": "\\xff\x00"},
        {"from": "client", "message": [1, 2]},
        {"from": "server", "close": {"code": 1011, "reason": 'He said "no".\n'}},
        {"from": "client", "close": {"code": None, "reason": ""}},
    ]
    assert [frame.offset for frame in frames[:3]] == [0, 15, 45]


def test_a_message_is_a_frame_as_soon_as_it_has_come() -> None:
    framer = MessageFramer()
    assert [frame.at_ms for frame in framer.feed(b"< " + PRETTY + b"\n", 7.0)] == [7.0]
    assert [frame.at_ms for frame in framer.feed(b"< {}\n", 8.0)] == [8.0]
    assert framer.close() == []


def test_a_session_that_is_cut_in_a_message() -> None:
    framer = MessageFramer()
    assert framer.feed(b'< {"serverContent": {"mod') == []
    (rest,) = framer.close()
    assert (rest.raw, rest.partial) == ('< {"serverContent": {"mod', True)
    with pytest.raises(CassetteError, match="message at byte 5 of the session is cut before its"):
        read_messages(b'< {}\n< {"serverContent": {"mod')


def test_what_is_no_record_is_a_raw_frame() -> None:
    framer = MessageFramer()
    frames = [*framer.feed(b"hello\n> {}\n<close 1011 why\n<64 ?\n"), *framer.close()]
    assert [frame.raw for frame in frames] == ["hello", None, "<close 1011 why", "<64 ?"]
    assert not is_log(b"hello\n> {}\n")
    for body, fact in {
        b"hello\n": "byte 0 of the session begins with neither",
        b"> {}\n<close 1011 why\n": "byte 5 of the session needs a code and a text",
        b"<64 ?\n": "byte 0 of the session is not base64",
    }.items():
        with pytest.raises(CassetteError, match=fact):
            read_messages(body)


def test_many_and_long_messages_are_read_in_one_pass() -> None:
    many = MessageFramer()
    frames = many.feed(b"< {}\n" * 100_000)
    assert len(frames) + len(many.close()) == 100_000
    long = MessageFramer(max_frame=1000)
    with pytest.raises(FramingError, match="message at byte 5 is longer than 1000 bytes"):
        long.feed(b"< {}\n< " + b"x" * 2000)
