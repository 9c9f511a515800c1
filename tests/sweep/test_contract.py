"""A batch of streams gives a batch of verdicts, whatever the batch contains."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.judging.rows import Row
from harness.sweep.contract import Settings, judge_batch
from harness.sweep.row import COLUMNS, StreamRow
from harness.sweep.stream import CapturedStream, stream_of_row
from tests.support.captured import OWN, body, row, write_shim


def streams(*rows: dict[str, Any]) -> list[CapturedStream]:
    return [stream_of_row(values, f"day:{n}") for n, values in enumerate(rows, 1)]


def verdict_of(settings: Settings, **columns: Any) -> StreamRow:
    (verdict,) = judge_batch(streams(row("s", **columns)), settings)
    return verdict


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_the_row_of_a_kept_stream() -> None:
    verdict = verdict_of(OWN)
    assert (verdict.id, verdict.source) == ("s", "day:1")
    assert (verdict.adapter, verdict.version) == ("unified-llm", "1")
    assert (verdict.provider, verdict.model, verdict.status) == ("gemini-api", "gemini-x", 200)
    assert (verdict.verdict, verdict.red, verdict.sentence, verdict.layer) == (
        "passed",
        False,
        "",
        "",
    )
    assert verdict.aspects == {"text": "kept", "finish": "kept", "usage": "kept"}


def test_a_loss_is_a_failed_row_with_layer_and_sentence(folder: Path) -> None:
    target = write_shim(folder, "shorter", "[1:]")
    verdict = verdict_of(Settings(target, folder=str(folder)))
    assert (verdict.verdict, verdict.red, verdict.layer) == ("failed", True, "facts")
    assert verdict.aspects["text"] == "lost"
    assert verdict.sentence.startswith("text lost: at character 0 the wire has")


def test_a_declared_loss_is_no_failure(folder: Path) -> None:
    target = replace(write_shim(folder, "declared", "[1:]"), losses="text")
    verdict = verdict_of(Settings(target, folder=str(folder)))
    assert (verdict.verdict, verdict.aspects["text"]) == ("passed", "not_carried")


def test_a_loss_of_a_variant_is_failed_and_not_red(folder: Path) -> None:
    target = write_shim(folder, "variant", "[1:]")
    settings = Settings(target, folder=str(folder))
    verdict = verdict_of(settings, body=body().replace("data: ", "data:"))
    assert (verdict.verdict, verdict.red) == ("failed", False)
    assert verdict.variants == ("no space after data:",)


def test_a_poisoned_row_is_a_row_with_an_error() -> None:
    before, poisoned, after = judge_batch(
        streams(row("a"), {"id": "b", "reads": [1], "body": "xy"}, row("c")), OWN
    )
    assert [before.verdict, poisoned.verdict, after.verdict] == ["passed", "error", "passed"]
    assert (poisoned.id, poisoned.red) == ("b", True)
    assert poisoned.sentence == "the reads have 1 bytes, the body has 2"


def test_an_exception_of_an_adapter_is_judged(folder: Path) -> None:
    settings = Settings(write_shim(folder, "raising"), folder=str(folder))
    verdict = verdict_of(settings, body=body("raise"))
    assert (verdict.verdict, verdict.aspects["needless_error"]) == ("failed", "raised")


def test_a_row_of_which_nothing_was_read_is_not_green(folder: Path) -> None:
    settings = Settings(write_shim(folder, "silent"), folder=str(folder))
    verdict = verdict_of(settings, body="\x81\x82\x83" * 90)
    assert (verdict.verdict, verdict.red) == ("not-run", False)
    assert "nothing of this answer was read" in verdict.sentence


@pytest.mark.slow
def test_an_adapter_that_ends_its_process_is_an_error_of_that_row(folder: Path) -> None:
    settings = Settings(write_shim(folder, "dying"), folder=str(folder))
    first, died, last = judge_batch(
        streams(row("a"), row("b", body=body("die")), row("c")), settings
    )
    assert (first.verdict, died.verdict, last.verdict) == ("passed", "error", "passed")
    assert died.sentence


def test_an_exchange_without_an_answer_of_a_model_is_skipped() -> None:
    verdict = verdict_of(
        OWN, body="<p>Hello</p>", request={"url": "https://x.example/", "method": "GET"}
    )
    assert (verdict.verdict, verdict.red) == ("not-run", False)
    assert verdict.sentence == "the exchange has no answer of a model"


def test_only_losses_against_the_baseline_are_red(folder: Path) -> None:
    shorter, longer = write_shim(folder, "cuts", "[1:]"), write_shim(folder, "whole")
    worse = verdict_of(Settings(shorter, longer, str(folder)))
    assert (worse.worse, worse.better, worse.red) == (("text",), (), True)
    better = verdict_of(Settings(longer, shorter, str(folder)))
    assert (better.worse, better.better, better.red) == ((), ("text",), False)
    same = verdict_of(Settings(shorter, replace(shorter, name="cuts-too"), str(folder)))
    assert (same.verdict, same.worse, same.red, same.against) == ("failed", (), False, "cuts-too 1")


@pytest.mark.slow
def test_laws_are_asked_if_they_are_named(folder: Path) -> None:
    verdict = verdict_of(replace(OWN, laws=(2, 5)))
    assert verdict.laws == {"2": "passed", "5": "passed"}
    late = " + 'x' * (ASKED.append(1) or len(ASKED) % 2 == 0)"
    settings = Settings(write_shim(folder, "unlike", late), folder=str(folder), laws=(5,))
    shim = folder / "unlike.py"
    shim.write_text(f"ASKED = []\n{shim.read_text()}")
    broken = verdict_of(settings)
    assert (broken.aspects["text"], broken.verdict, broken.red) == ("kept", "failed", True)
    assert broken.laws == {"5": "failed"}
    assert broken.sentence.startswith("law 5: ")


def test_the_model_is_read_from_an_answer_without_a_request() -> None:
    answer = body().replace('{"candidates"', '{"modelVersion": "gemini-y", "candidates"')
    assert verdict_of(OWN, body=answer, request=None).model == "gemini-y"


def test_equal_answers_have_equal_digests() -> None:
    digest = verdict_of(OWN).digest
    assert digest == verdict_of(OWN, id="t", reads=None).digest
    others: list[dict[str, Any]] = [{"body": body("Rome")}, {"end": "cut"}, {"status": 503}]
    assert digest not in {verdict_of(OWN, **other).digest for other in others}


def test_a_sentence_shows_no_secret(folder: Path) -> None:
    key = "AIza" + "SyA0123456789012345678901234567890a"
    settings = Settings(write_shim(folder, "leaking", "[1:]"), folder=str(folder))
    verdict = verdict_of(settings, body=body(f"key {key} x"))
    assert verdict.verdict == "failed"
    assert key not in verdict.sentence


KEY = "AIza" + "SyA0123456789012345678901234567890a"
OWN_SECRET = "correct-horse-battery"


@pytest.mark.parametrize("secret", [KEY, OWN_SECRET])
def test_ids_sources_and_errors_show_no_secret(
    secret: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GATEWAY_TOKEN", OWN_SECRET)
    kept = stream_of_row(row("kept"), "day:1")
    in_id = stream_of_row(row(f"user-{secret}"), "day:2")
    in_source = stream_of_row(row("c"), f"https://gateway/day?key={secret}:3")
    in_error = stream_of_row({"id": "d", "body": "x", "provider": secret}, "day:4")
    in_model = stream_of_row(
        row("e", body=body().replace('"candidates"', f'"modelVersion": "{secret}", "candidates"')),
        "day:5",
    )
    rows = judge_batch([kept, in_id, in_source, in_error, in_model], OWN)
    assert [verdict.verdict for verdict in rows] == ["passed"] * 3 + ["error", "passed"]
    assert not [verdict for verdict in rows if secret in repr(verdict)]
    assert rows[0] == judge_batch([kept], OWN)[0]
    assert rows[1] == judge_batch([in_id], OWN)[0]
    assert rows[1].id != rows[1].source == "day:2"


def test_every_column_of_a_row_is_described() -> None:
    assert {*COLUMNS} >= {*StreamRow.__struct_fields__} - {*Row.__struct_fields__}
    assert list(COLUMNS)[:4] == ["id", "source", "adapter", "version"]
