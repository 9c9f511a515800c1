"""The public adapters of this folder, and the places of their results."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

HERE: Final = Path(__file__).resolve().parent
ROOT: Final = HERE.parent.parent
BUILD: Final = ROOT / "build" / "peers"


class Peer(NamedTuple):
    """A public adapter: the folder of its shim, the lock of its environment, the target.

    ``previous_of``: the name of the newer version.

    ``service``: the command of a gateway, which runs while the gateway is judged; ``package``: the
    distribution that has the version of the gateway. ``wire``: the public wire that it writes.
    ``losses``: what its API can't leave out or ask for, declared as in `harness judge`.
    ``options``: further arguments for `harness judge`; those of `run.py` win.
    """

    folder: str
    lock: str
    target: str = "serve: shim:replay"
    service: tuple[str, ...] = ()
    package: str = ""
    wire: str = ""
    previous_of: str = ""
    losses: str = ""
    options: tuple[str, ...] = ()


NODE: Final = "serve: node shim.mjs"
NODE_LIVE: Final = "serve: node live_shim.mjs"
LIVE: Final = "serve: live_shim:replay"
FOR_SESSIONS: Final = ("--cassettes", "live", "--timeout", "20")  # that of each message
PORT: Final = 4000
PROXY: Final = ("litellm", "--config", "config.yaml", "--host", "127.0.0.1", "--port", str(PORT))
NEWEST: Final = {
    "google-genai": Peer("google-genai", "google-genai/requirements.txt"),
    "litellm": Peer("litellm", "litellm/requirements.txt"),
    "litellm-anthropic": Peer(
        "litellm-anthropic",
        "litellm/requirements.txt",
        losses="invented[max_tokens], invented[thinking]",  # the API requires both
    ),
    "langchain-google-genai": Peer(
        "langchain-google-genai", "langchain-google-genai/requirements.txt"
    ),
    "pydantic-ai": Peer("pydantic-ai", "pydantic-ai/requirements.txt"),
    "any-llm": Peer("any-llm", "any-llm/requirements.txt"),
    "google-adk": Peer("google-adk", "google-adk/requirements.txt"),
    "llm-gemini": Peer("llm-gemini", "llm-gemini/requirements.txt"),
    "google-genai-js": Peer("google-genai-js", "google-genai-js/package-lock.json", NODE),
    "ai-sdk": Peer("ai-sdk", "ai-sdk/package-lock.json", NODE),
    "gemini-cli": Peer("gemini-cli", "gemini-cli/package-lock.json", NODE),
    "strands-agents": Peer("strands-agents", "strands-agents/requirements.txt"),
    "llama-index": Peer("llama-index", "llama-index/requirements.txt"),
    "agno": Peer("agno", "agno/requirements.txt"),
    "haystack": Peer("haystack", "haystack/requirements.txt"),
    "semantic-kernel": Peer("semantic-kernel", "semantic-kernel/requirements.txt"),
    "langchain-google-genai-js": Peer(
        "langchain-google-genai-js", "langchain-google-genai-js/package-lock.json", NODE
    ),
    "genkit": Peer("genkit", "genkit/package-lock.json", NODE),
    "openai": Peer("openai", "openai/requirements.txt"),
    "openai-js": Peer("openai-js", "openai-js/package-lock.json", NODE),
    "langchain-openai": Peer("langchain-openai", "langchain-openai/requirements.txt"),
    "ai-sdk-openai-compatible": Peer(
        "ai-sdk-openai-compatible", "ai-sdk-openai-compatible/package-lock.json", NODE
    ),
    "openai-agents": Peer("openai-agents", "openai-agents/requirements.txt"),
    "autogen": Peer("autogen", "autogen/requirements.txt"),
    **{
        name: Peer(name, f"{name}/requirements.txt", "serve: shim:events", wire="ag-ui", losses=own)
        for name, own in {"ag-ui-adk": "", "pydantic-ai-ag-ui": "invented[text]"}.items()
    },
    **{
        f"litellm-proxy-{wire}": Peer(
            "litellm-proxy",
            "litellm/requirements.txt",
            f"gateway {wire}: http://127.0.0.1:{PORT}",
            PROXY,
            "litellm",
        )
        for wire in ("gemini", "anthropic", "openai-chat", "openai-responses")
    },
}
PREVIOUS: Final = {
    "ag-ui-adk-0-10": ("ag-ui-adk", "0.10"),
    "agno-2": ("agno", "2.9"),
    "ai-sdk-2": ("ai-sdk", "2.0"),
    "ai-sdk-openai-compatible-1": ("ai-sdk-openai-compatible", "1.0"),
    "any-llm-1-39": ("any-llm", "1.39"),
    "autogen-0-6": ("autogen", "0.6"),
    "gemini-cli-0-60": ("gemini-cli", "0.60"),
    "genkit-1-41": ("genkit", "1.41"),
    "google-adk-1": ("google-adk", "1.39"),
    "google-genai-2": ("google-genai", "2.34"),
    "google-genai-js-1": ("google-genai-js", "1.52"),
    "haystack-6": ("haystack", "6.0"),
    "langchain-google-genai-4-3": ("langchain-google-genai", "4.3"),
    "langchain-google-genai-js-1": ("langchain-google-genai-js", "1.0"),
    "langchain-openai-0": ("langchain-openai", "0.3"),
    "litellm-1-105": ("litellm", "1.105"),
    "litellm-anthropic-1-105": ("litellm-anthropic", "1.105"),
    "litellm-proxy-anthropic-1-105": ("litellm-proxy-anthropic", "1.105"),
    "litellm-proxy-gemini-1-105": ("litellm-proxy-gemini", "1.105"),
    "litellm-proxy-openai-chat-1-105": ("litellm-proxy-openai-chat", "1.105"),
    "litellm-proxy-openai-responses-1-105": ("litellm-proxy-openai-responses", "1.105"),
    "llama-index-0-10": ("llama-index", "0.10"),
    "llm-gemini-0-34": ("llm-gemini", "0.34"),
    "openai-2": ("openai", "2.54"),
    "openai-agents-0-23": ("openai-agents", "0.23"),
    "openai-js-5": ("openai-js", "5.23"),
    "pydantic-ai-1": ("pydantic-ai", "1.107"),
    "pydantic-ai-ag-ui-1": ("pydantic-ai-ag-ui", "1.107"),
    "semantic-kernel-1-44": ("semantic-kernel", "1.44"),
    "strands-agents-1-61": ("strands-agents", "1.61"),
}
"""The previous versions: the last one of the major version before, or else of the minor version."""


def session_peer(folder: str, lock: str = "requirements-live.txt", target: str = LIVE) -> Peer:
    """An adapter that holds sessions of the Live API, with its own shim."""
    return Peer(folder, f"{folder}/{lock}", target, options=FOR_SESSIONS)


SESSIONS: Final = {
    "google-genai-live": session_peer("google-genai"),
    "google-genai-js-live": session_peer("google-genai-js", "package-lock.json", NODE_LIVE),
    "pydantic-ai-live": session_peer("pydantic-ai"),
    "google-adk-live": session_peer("google-adk"),
    "strands-agents-live": session_peer("strands-agents"),
}
"""The adapters that hold sessions. They have no previous versions."""


def previous(newest: str, version: str) -> Peer:
    """A previous version, with the shim of the newest. Its lock is beside the lock of the newest,
    and has the version in its name.
    """
    peer = NEWEST[newest]
    stem, _, ending = peer.lock.rpartition(".")
    return peer._replace(lock=f"{stem}-{version}.{ending}", previous_of=newest)


PEERS: Final = {
    **NEWEST,
    **SESSIONS,
    **{name: previous(*entry) for name, entry in PREVIOUS.items()},
}


def newest(name: str) -> str:
    """The name of the newest version of an adapter; a name that is not in the table, unchanged."""
    return (PEERS[name].previous_of if name in PEERS else "") or name
