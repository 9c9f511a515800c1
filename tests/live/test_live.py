"""Records one short live answer of each provider and reads it.

Without credentials a test skips with the reason. With HARNESS_REQUIRE=live-gemini-api (or
live-vertex-ai, live-code-assist, live-gemini-cli) it fails instead. HARNESS_MODEL names the model.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import harness
from harness.recording.asks import ask_prompts
from harness.recording.drivers.code_assist import TOKENS, find_token
from harness.recording.drivers.genai import KEYS
from harness.recording.run import record_requests
from harness.recording.settings import Limits, MissingCredentials, Settings
from tests.support.need import need

MODEL = os.environ.get("HARNESS_MODEL", "gemini-3.8-flash")


def reason_to_skip(provider: str) -> str | None:
    """The reason why the provider can't be asked, or None."""
    keys = [name for name in KEYS if os.environ.get(name)]
    match provider:
        case "gemini-api":
            return None if keys else f"no key: set {KEYS[1]}"
        case "vertex-ai":
            project = os.environ.get("GOOGLE_CLOUD_PROJECT")
            express = os.environ.get("GOOGLE_GENAI_USE_VERTEXAI") and keys
            return (
                None
                if project or express
                else "no project: set GOOGLE_CLOUD_PROJECT, or GOOGLE_GENAI_USE_VERTEXAI with an express key"
            )
        case "code-assist":
            try:
                find_token()
            except MissingCredentials as error:
                return str(error)
            return None
        case _:
            if not shutil.which("gemini"):
                return "no program: npm install -g @google/gemini-cli"
            login = (Path.home() / ".gemini" / "oauth_creds.json").exists()
            return (
                None
                if keys or login or any(map(os.environ.get, TOKENS))
                else "the Gemini CLI has no login and no key"
            )


@pytest.mark.parametrize("provider", ["gemini-api", "vertex-ai", "code-assist", "gemini-cli"])
def test_a_live_answer_has_only_known_events(provider: str, tmp_path: Path) -> None:
    reason = reason_to_skip(provider)
    need(f"live-{provider}", reason is None, f"{provider} is not asked: {reason}")
    path = tmp_path / f"{provider}.yaml"
    limits = Limits(attempts=3, requests=4, output_tokens=5_000)
    prompts = ask_prompts(["Say hello in one word."], provider)
    cassette = record_requests(
        provider, prompts, path, settings=Settings(model=MODEL), limits=limits
    )
    (exchange,) = cassette.exchanges
    assert (cassette.origin.kind, exchange.provider, exchange.end) == (
        "recorded",
        provider,
        "complete",
    )
    kinds = [event["kind"] for event in harness.replay(exchange, layer="events")]
    assert "text" in kinds
    assert not {"error", "incomplete", "unknown"} & set(kinds), kinds
