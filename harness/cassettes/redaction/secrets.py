"""Collects this machine's secrets and this project's redaction rules.

They are read each time when a file is written or scanned, because an environment changes. They are
not written, printed or sent anywhere.
"""

from __future__ import annotations

import base64
import json
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from harness.stream.exchange import CassetteError, Exchange

from .guard import Guard
from .mask import Mask
from .names import CREDENTIAL_MEMBERS, SECRET_VARIABLE
from .redactor import Redactor

_USER: Final = re.compile(r"://[^\s/?#:@]*:([^\s/?#@]+)@")
"""The user and the password of a URL."""
_read_toml: Final = lru_cache(4)(tomllib.loads)


def guard(
    folder: Path | None = None,
    *,
    before_record: Callable[[Exchange], Exchange | None] | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Guard:
    """Return a `Guard` with this machine's secrets and the rules of the project that contains
    ``folder`` (default: the working folder). ``before_record``: see `Redactor`. Raises
    `CassetteError` for faulty rules and for credentials that can't be read.
    """
    rules = read_rules(folder or Path.cwd())
    return Guard(known_secrets(environ=environ), Redactor(rules, before_record))


def mask(environ: Mapping[str, str] = os.environ) -> Mask:
    """Return a `Mask` with this machine's secrets, for text that leaves the process. Credentials
    that can't be read are ignored, because no message can contain them.
    """
    try:
        secrets = known_secrets(environ=environ)
    except CassetteError:
        secrets = dict(_variables(environ))
    return _mask(tuple(secrets.items()))


@lru_cache(4)
def _mask(secrets: tuple[tuple[str, str], ...]) -> Mask:
    return Mask(Guard(dict(secrets)))


def known_secrets(
    arguments: Iterable[str] = (), environ: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """Return the secrets of this machine: name for findings → value. ``arguments`` are further
    secrets, such as keys from a command line.
    """
    secrets = dict(_variables(environ))
    for number, value in enumerate(arguments, 1):
        secrets[f"the key that was given as argument {number}"] = value
    names = ("GOOGLE_APPLICATION_CREDENTIALS", "CLOUDSDK_CONFIG", "APPDATA", "HOME", "USERPROFILE")
    for path in _credential_files(*map(environ.get, names)):
        secrets |= {
            f"the {member} of {path.name}": value
            for member, value in _members(_read_credentials(path))
        }
    return secrets


def read_rules(folder: Path) -> list[str]:
    """Return the rules in ``redact`` of ``[tool.harness]``, from the nearest pyproject.toml at or
    above ``folder``; empty if there is no such file.
    """
    path = next(
        (
            place / "pyproject.toml"
            for place in (folder.absolute(), *folder.absolute().parents)
            if (place / "pyproject.toml").is_file()
        ),
        None,
    )
    if path is None:
        return []
    try:
        rules = (
            _read_toml(path.read_text(encoding="utf-8"))
            .get("tool", {})
            .get("harness", {})
            .get("redact", [])
        )
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, AttributeError) as error:
        raise CassetteError(f"{path}: not a readable pyproject.toml: {error}") from None
    if not isinstance(rules, list) or not all(isinstance(rule, str) for rule in rules):
        raise CassetteError(
            f'{path}: `redact` of [tool.harness] must be a list of strings, such as ["customer_id",'
            ' "re:acct-[0-9]+"]'
        )
    return rules


def _variables(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name, value in environ.items():
        yield from _secrets_of(name, value)


@lru_cache(1024)
def _secrets_of(name: str, value: str) -> tuple[tuple[str, str], ...]:
    """Return the secrets in a variable: its value if the name tells so, the secret members of
    credentials in it, also in base64, and the password in a URL, whatever the name.
    """
    secrets: dict[str, str] = {}
    if SECRET_VARIABLE.search(name):
        secrets[f"the value of {name}"] = value
        for member, inner in _members(_credentials_in(value)):
            secrets[f"the {member} in {name}"] = inner
    for number, password in enumerate(_USER.findall(value), 1):
        secrets[f"password {number} in {name}"] = password
    return tuple(secrets.items())


def _credentials_in(value: str) -> Any:
    """Return the JSON of a variable, which may be in base64; None if it is another text."""
    with suppress(ValueError):
        text = value if value.lstrip().startswith("{") else base64.b64decode(value, validate=True)
        return json.loads(text)
    return None


@lru_cache(4)
def _credential_files(
    application: str | None,
    settings: str | None,
    app_data: str | None,
    home: str | None,
    profile: str | None,
) -> tuple[Path, ...]:
    """Return the files in which Google's libraries, gcloud and the Gemini CLI keep credentials."""
    home = home or profile
    settings = (
        settings or (app_data and f"{app_data}/gcloud") or (home and f"{home}/.config/gcloud")
    )
    return (
        *([Path(application)] if application else []),
        *([Path(settings, "application_default_credentials.json")] if settings else []),
        *([Path(home, ".gemini", "oauth_creds.json")] if home else []),
    )


def _read_credentials(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
    except (OSError, ValueError) as error:
        raise CassetteError(
            f"{path}: can't be read, so its secrets are not known: {error}; repair or remove the"
            " file"
        ) from None


def _members(value: Any) -> Iterator[tuple[str, str]]:
    """Yield the secret members of credentials, which may be nested."""
    for key, inner in value.items() if isinstance(value, dict) else ():
        if key in CREDENTIAL_MEMBERS and isinstance(inner, str):
            yield key, inner
        else:
            yield from _members(inner)
