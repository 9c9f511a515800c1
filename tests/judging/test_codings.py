"""Content codings: brotli and zstd are decoded, else the answer is an error everywhere; and an
answer of which nothing was read is never green.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path

import brotli
import pytest
import zstandard

from harness import load
from harness.adapters import ADAPTERS, EVENTS
from harness.cassettes import Cassette, Exchange, Origin, Request, dumps
from harness.cli.main import main
from harness.judging.aspects import judge_exchange
from harness.judging.laws.judge import cells as law_cells
from harness.judging.laws.judge import judge_law
from harness.judging.reading import Reading
from harness.stream import decompression
from harness.stream.decompression import Unpacker, unpack_before_fault

URL = (
    "https://generativelanguage.googleapis.com/v1beta/models/gemini-x:streamGenerateContent?alt=sse"
)
BODY = (
    b'data: {"candidates": [{"content": {"parts": [{"text": "Hello"}],"role": "model"},'
    b'"finishReason": "STOP","index": 0}]}\r\n\r\n'
)
PACK: dict[str, Callable[[bytes], bytes]] = {
    "br": brotli.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}
SOURCE = (
    "from harness.facts import Finish, Text\n\n\n"
    "def silent(exchange):\n    yield {'done': True}, []\n\n\n"
    "def right(exchange):\n    yield {'text': 'Hello'}, [Text('Hello')]\n"
    "    yield {'finish': 'STOP'}, [Finish('STOP')]\n"
)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "coded.py").write_text(SOURCE, encoding="utf-8")
    return tmp_path


def keep(body: bytes, coding: str | None) -> None:
    headers = {"Content-Encoding": [coding]} if coding else {}
    exchange = Exchange(Request("POST", URL), 200, headers, ((1.0, body),), "complete")
    text = dumps(Cassette((exchange,), Origin("written")))
    Path("a.yaml").write_text(text, encoding="utf-8")


def judge(adapter: str) -> int:
    return main(["judge", f"coded:{adapter}", "--cassettes", "a.yaml"])


@pytest.mark.parametrize("coding", PACK)
def test_a_coded_answer_is_judged_and_imported(
    here: Path, capsys: pytest.CaptureFixture[str], coding: str
) -> None:
    keep(PACK[coding](BODY), coding)
    assert judge("right") == 0
    assert "1 of 1 cell passed" in capsys.readouterr().out
    assert judge("silent") == 1
    assert main(["import", "a.yaml", "-o", "b.yaml"]) == 0
    assert main(["show", "b.yaml"]) == 0
    assert "finish STOP" in capsys.readouterr().out
    assert load("b.yaml").exchanges[0].body == PACK[coding](BODY)


@pytest.mark.parametrize("coding", [*PACK, "compress"])
def test_without_its_library_a_coded_answer_is_an_error_everywhere(
    here: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    coding: str,
) -> None:
    monkeypatch.setattr(decompression, "_library", lambda name: None)
    keep(PACK[coding](BODY) if coding in PACK else b"\x1f\x9d\x90" + zlib.compress(BODY), coding)
    for adapter in ("silent", "right"):
        assert judge(adapter) != 0
        output = capsys.readouterr().out
        assert f"not read: coding {coding}" in output
        assert "1 of 1" not in output
        assert ("pip install 'gemini-conformance[codings]'" in output) == (coding in PACK)
    (exchange,) = load("a.yaml").exchanges
    cells = list(law_cells("a", [exchange], list(ADAPTERS.values())))
    judgements = [judge_law(cell).result for cell in cells]
    assert {result.verdict for result in judgements} == {"error"}
    assert main(["replay", "a.yaml"]) == 2
    assert f"not read: coding {coding}" in capsys.readouterr().err


@pytest.mark.parametrize("coding", [None, "br", "zstd"])
def test_an_answer_of_which_nothing_was_read_is_never_green(
    here: Path, capsys: pytest.CaptureFixture[str], coding: str | None
) -> None:
    keep(bytes(range(128, 250)) * 2, coding)
    judge("silent")
    assert "1 of 1 cell passed" not in capsys.readouterr().out


@pytest.mark.parametrize("coding", PACK)
def test_a_damaged_body_gives_the_same_bytes_at_every_cut(coding: str) -> None:
    packed = PACK[coding](BODY * 40)
    for damaged in (packed[: len(packed) // 2], packed[:20] + b"\xff" * 30):
        reads: list[list[bytes]] = [
            [damaged[:cut], damaged[cut:]] for cut in range(1, len(damaged))
        ]
        assert {unpacked(coding, *pieces) for pieces in reads} == {unpacked(coding, damaged)}


def unpacked(coding: str, *reads: bytes) -> tuple[bytes, str]:
    unpacker, plain = Unpacker(coding), b""
    try:
        for read in reads:
            for piece in unpacker.feed(read):
                plain += piece
    except zlib.error as error:
        return plain, str(error)
    return plain, ""


@pytest.mark.parametrize("coding", PACK)
def test_a_bomb_is_stopped(coding: str) -> None:
    plain, fault = unpack_before_fault(PACK[coding](b"a" * (40 << 20)), coding)
    assert "when unpacked" in fault
    assert len(plain) < 20 << 20


@pytest.mark.parametrize("coding", PACK)
@pytest.mark.parametrize(
    "body", [BODY, b"{}", b'{"a": 1}', b"[]", b'[{"a": 1}]', b"\xef\xbb\xbf{}"]
)
def test_a_body_that_the_recorder_has_decoded_stays(coding: str, body: bytes) -> None:
    assert unpack_before_fault(body, coding) == (body, "")


CHAT = b'{"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop", "index": 0}], "x": 1}'


def test_an_explicit_provider_wins_over_detection(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("chat.json").write_bytes(CHAT)
    assert main(["show", "chat.json"]) == 2  # it does not name its API
    for command in ("show", "replay"):
        assert main([command, "chat.json", "--provider", "openai-compat"]) == 0
    output = capsys.readouterr().out
    assert "exchange 1: openai-compat, status 200" in output
    assert '"Hi"' in output


def test_an_answer_above_the_limit_of_a_message_is_an_error_that_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("harness.stream.exchange.MAX_FRAME", len(BODY) - 4)
    exchange = Exchange(None, 200, {}, ((None, BODY * 2),), provider="gemini-api", generates=True)
    judged = judge_exchange(Reading(exchange), EVENTS)
    limit = f"{len(BODY) - 4:,}"
    assert judged.error == (
        f"a line of the answer has more than {limit} bytes, the limit of a message"
    )
    monkeypatch.setattr("harness.stream.exchange.MAX_FRAME", len(BODY))
    assert not judge_exchange(Reading(exchange), EVENTS).error
