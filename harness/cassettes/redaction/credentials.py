"""Finds credentials, whole and cut: the known secrets, and those of a known shape. Shapes are
Google's, those of services whose traffic is recorded beside Google's, and tokens after `Bearer`.

The patterns of shapes are strict about length and alphabet, so that a thought signature, which is a
long base64 text, does not match. Each begins with literal bytes, because `re` finds these fast; a
look-behind is after them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from itertools import groupby
from typing import Any, Final, NamedTuple

from .placeholders import REDACTED
from .readings import Span, unescape


class Shape(NamedTuple):
    """The shape of a credential."""

    kind: str
    """The name in findings."""
    beginning: bytes
    """The literal bytes with which the credential begins."""
    text: bytes
    """A pattern for the bytes after these, as many as are needed to know the credential."""
    before: bytes = b"0-9A-Za-z_-"
    """The bytes that can't be directly before it, as in a class of `re`."""
    cut: bytes | None = b""
    """A pattern between the beginning and the rest of a credential that was cut. None: a cut
    credential can't be known.
    """

    def pattern(self, text: bytes) -> bytes:
        """Return the pattern of a credential with this text after its beginning."""
        beginning = re.escape(self.beginning)
        behind = b"(?<![%b]%b)" % (self.before, beginning) if self.before else b""
        return beginning + behind + text


_MIXED: Final = rb"(?=[a-z_-]{0,19}[A-Z0-9])"
_PRIVATE_KEY: Final = rb"[ +](?:[A-Z]{2,12}[ +])?PRIVATE[ +]KEY-----(?:\s|\\n|\\r){0,20}"
_GOOGLE_KEY: Final = "a Google API key"
_GITHUB: Final = "a GitHub token"
_OPENAI: Final = "an API key of the form sk-"
_AWS: Final = "an AWS access key"
SHAPES: Final = (
    Shape(
        _GOOGLE_KEY,
        b"AIza",
        rb"(?:[0-9A-Za-z_-]{35}(?![0-9A-Za-z_-])|(?<![0-9A-Za-z+/_-]AIza)[0-9A-Za-z_-]{30})",
        before=b"",
    ),
    Shape(f"{_GOOGLE_KEY} of the new form", b"AQ.", rb"[0-9A-Za-z_-]{20}", b"0-9A-Za-z_.-"),
    Shape(  # of a user (a0), a service account (c.) or an identity from elsewhere (d.)
        "an OAuth access token",
        b"ya29.",
        rb"(?:[a-z]\.)?[0-9A-Za-z_-]{20}",
        b"0-9A-Za-z_.-",
        cut=rb"(?:[a-z]\.)?",
    ),
    Shape("an ephemeral token of the Live API", b"auth_tokens/", rb"[0-9A-Za-z_-]{20}", cut=None),
    Shape("an OAuth refresh token", b"1//0", rb"[0-9A-Za-z_-]{40}"),
    Shape("an OAuth client secret", b"GOCSPX-", rb"[0-9A-Za-z_-]{20}"),
    Shape("an OAuth authorization code", b"4/0A", rb"[0-9A-Za-z_-]{20}"),
    Shape(
        "a JSON Web Token",
        b"eyJ",
        rb"[0-9A-Za-z_-]{8,}\.eyJ[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]{8}",
        cut=rb"[0-9A-Za-z_-]{8,}\.(?:eyJ[0-9A-Za-z_-]{8,}\.)?",
    ),
    Shape("an Anthropic API key", b"sk-ant-", rb"(?:[a-z]{3,6}[0-9]{2}-)?[0-9A-Za-z_-]{20}"),
    Shape("an OpenRouter API key", b"sk-or-v1-", rb"[0-9a-f]{20}"),
    *(
        Shape(_OPENAI, beginning, _MIXED + rb"[0-9A-Za-z_-]{20}")
        for beginning in (b"sk-proj-", b"sk-svcacct-", b"sk-admin-", b"sk-None-", b"sk-lf-")
    ),
    Shape(_OPENAI, b"sk-", _MIXED + rb"[0-9A-Za-z]{20}", cut=None),
    Shape("a Groq API key", b"gsk_", rb"[0-9A-Za-z]{30}"),
    Shape("an xAI API key", b"xai-", _MIXED + rb"[0-9A-Za-z]{30}"),
    Shape("a Hugging Face token", b"hf_", rb"[0-9A-Za-z]{30}"),
    *(
        Shape(_GITHUB, b"gh%b_" % letter, rb"[0-9A-Za-z]{30}")
        for letter in (b"p", b"o", b"u", b"s", b"r")
    ),
    Shape(_GITHUB, b"github_pat_", rb"[0-9A-Za-z_]{30}"),
    *(
        Shape(
            _AWS,
            beginning,
            rb"(?!(?:IOSFODNN7|I44QH8DHB)EXAMPLE)(?=[A-Z]*+[0-9])[0-9A-Z]{16}(?![0-9A-Za-z_-])",
            cut=None,
        )
        for beginning in (b"AKIA", b"ASIA")
    ),
    *(
        Shape(
            "a bearer token",
            beginning,
            rb"(?<=[Bb]earer.)((?=[A-Za-z._~+/-]*+[0-9])[0-9A-Za-z._~+/-]{20})",
            before=b"",
            cut=None,
        )
        for beginning in (b"earer ", b"earer+")
    ),
    Shape(
        "an Azure key",
        b"JQQJ9",
        rb"(?<=([0-9A-Za-z]{52})JQQJ9)(?<![0-9A-Za-z]{53}JQQJ9)[9DH][0-9A-Za-z][A-L][0-9A-Za-z]{16}",
        before=b"",
        cut=None,
    ),
    Shape("a Bedrock API key", b"ABSK", _MIXED + rb"[0-9A-Za-z+/]{60}", cut=None),
    Shape("a Bedrock API key", b"bedrock-api-key-", rb"[0-9A-Za-z+/]{20}"),
    Shape("a Perplexity API key", b"pplx-", _MIXED + rb"[0-9A-Za-z]{30}", cut=None),
    Shape("a Replicate token", b"r8_", _MIXED + rb"[0-9A-Za-z]{30}", cut=None),
    Shape("a Fireworks API key", b"fw_", _MIXED + rb"[0-9A-Za-z]{20}", cut=None),
    Shape("a GitLab token", b"glpat-", _MIXED + rb"[0-9A-Za-z_-]{20}", cut=None),
    *(
        Shape("a Slack token", b"xox%b-" % letter, rb"[0-9]{6,}-[0-9A-Za-z-]{16}", cut=None)
        for letter in (b"b", b"p", b"a", b"s")
    ),
    *(
        Shape("a Stripe key", beginning, _MIXED + rb"[0-9A-Za-z]{20}", cut=None)
        for beginning in (b"sk_live_", b"rk_live_")
    ),
    Shape("an npm token", b"npm_", _MIXED + rb"[0-9A-Za-z]{30}", cut=None),
    Shape("a PyPI token", b"pypi-", _MIXED + rb"[0-9A-Za-z_-]{50}", cut=None),
    Shape("an ephemeral OpenAI key", b"ek_", _MIXED + rb"[0-9A-Za-z]{20}", cut=None),
    Shape(
        "a private key",
        b"-----BEGIN",
        _PRIVATE_KEY + rb"[0-9A-Za-z+/]{20}",
        before=b"",
        cut=None,
    ),
)
"""AWS's documentation uses the two keys that end with EXAMPLE."""
_FIND: Final = tuple(
    (common, [(shape.beginning, shape.kind, shape.pattern(shape.text)) for shape in shapes])
    for common, shapes in groupby(SHAPES, lambda shape: shape.beginning[:3])
)
"""Common first bytes → the shapes with these, which are searched only in a text with them."""
KINDS: Final = frozenset(shape.kind for shape in SHAPES)
"""The names of all shapes."""
BEGINNINGS: Final = tuple(dict.fromkeys(shape.beginning for shape in SHAPES))
"""Every match of a pattern in this module has one of these. A search for each takes less time than
the pattern.
"""

_CUT_REST: Final = (
    rb"[0-9A-Za-z_-]{6,}"
    rb"(?: ?(?:\xe2\x80\xa6|\.\.\.)(?: \([0-9,]+ characters\)(?: \xe2\x80\xa6 )?)?[0-9A-Za-z_-]*"
    rb"|(?=\n?\0|\Z))"
)
_FIND_CUT: Final = {
    **{
        shape.beginning: shape.pattern(shape.cut + _CUT_REST)
        for shape in SHAPES
        if shape.cut is not None
    },
    **{
        beginning: beginning + rb"(?=[A-Za-z._~+/-]*+[0-9])" + _CUT_REST
        for beginning in (b"Bearer ", b"bearer ")
    },
    b"-----BEGIN": b"-----BEGIN" + _PRIVATE_KEY + _CUT_REST.replace(b"A-Za-z_-", b"A-Za-z+/="),
}
"""The beginning of a credential in an excerpt, then the mark of a gap and the end of the
credential.
"""
LONG: Final = 1 << 10
"""The maximum length of a text that is not first searched for all words together."""
_REST: Final = re.compile(rb"[0-9A-Za-z+/=_.-]*")
_PRIVATE_REST: Final = re.compile(
    rb"[^-\0]{0,20000}-----END[ +](?:[A-Z]{2,12}[ +])?PRIVATE[ +]KEY-----"
    rb"|(?:[0-9A-Za-z+/=\\]|\s(?!\0))*"  # not the line break before the next text
)


def may_match(text: bytes, patterns: tuple[bytes, ...], *, any_case: bool = False) -> bool:
    """Return whether a text may match one of these. True for a short text, without a search."""
    return len(text) <= LONG or bool(_finder(patterns, any_case=any_case).search(text))


@lru_cache(16)
def _finder(patterns: tuple[bytes, ...], *, any_case: bool) -> Any:
    """Return a pattern that finds any of these. RE2 searches for all alternatives in one pass."""
    import re2  # start-up time: most texts are short

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.case_sensitive = not any_case
    return re2.compile(b"|".join(patterns), options)


_compiled: Final = cache(re.compile)
"""Compiles a pattern when a text first has its beginning, because most texts have none."""


def find_shapes(data: bytes) -> Iterator[tuple[int, int, str]]:
    """Start, end and name of each credential in ``data``. A pattern matches only the beginning of a
    credential; `rest` returns its end.
    """
    for common, shapes in _FIND:
        if common not in data:
            continue
        for beginning, name, pattern in shapes:
            if beginning in data:
                for match in _compiled(pattern).finditer(data):
                    yield match.start(match.lastindex or 0), match.end(), name


def find_cut_shapes(text: bytes) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and name of the credentials that are cut at a gap."""
    for beginning, pattern in _FIND_CUT.items():
        if beginning in text:
            for match in _compiled(pattern).finditer(text):
                yield *match.span(), "a cut credential"


def rest(data: bytes, start: int, stop: int) -> int:
    """Return the end of the credential that begins with these bytes: it has all following bytes of
    its alphabet.
    """
    pattern = _PRIVATE_REST if data.startswith(b"-----BEGIN", start) else _REST
    match = pattern.match(data, stop)
    return match.end() if match else stop


MIN_LENGTH: Final = 8
"""The minimum length of a known secret; a shorter secret would be found everywhere."""
_GAP_AFTER: Final = re.compile(rb" ?(?:\xe2\x80\xa6|\.\.\.)|\n?\0|\Z")
_GAP_BEFORE: Final = re.compile(rb"(?:\xe2\x80\xa6|\.\.\.) ?\Z|\0\n?\Z|\A\Z")


class KnownValues:
    """Finds ``secrets`` (name → value). If a value has several lines, like a private key, each line
    is searched for.
    """

    def __init__(self, secrets: Mapping[str, str]) -> None:
        self._forms: Final = dict(_forms(secrets))
        self.longest: Final = max(map(len, self._forms), default=0)
        """The length of the longest value, in bytes."""
        self.words: Final = tuple(
            sorted({end for form in self._forms for end in (form[:MIN_LENGTH], form[-MIN_LENGTH:])})
        )
        """A text without one of these has neither a value nor a part of one."""

    def find(self, text: bytes) -> Iterator[tuple[int, int, str]]:
        """Yield start, end and name of each value, and of each end after a redacted beginning."""
        for form, name in self._forms.items():
            start = text.find(form)
            while start >= 0:
                yield start, start + len(form), name
                start = text.find(form, start + len(form))
            for start, stop in _ends(form, text):
                if text.endswith(REDACTED.encode(), 0, start):
                    yield start, stop, name

    def find_cut(self, text: bytes) -> Iterator[tuple[int, int, str]]:
        """Yield start, end and name of the beginnings and the ends of values at a gap."""
        for form, name in self._forms.items():
            start = text.find(form[:MIN_LENGTH])
            while start >= 0:
                stop = start + _common(form, text[start : start + len(form)])
                if stop < start + len(form) and _GAP_AFTER.match(text, stop):
                    yield start, stop, name
                start = text.find(form[:MIN_LENGTH], stop)
            for start, stop in _ends(form, text):
                if stop - start < len(form) and _GAP_BEFORE.search(text[max(start - 5, 0) : start]):
                    yield start, stop, name


def _ends(form: bytes, text: bytes) -> Iterator[Span]:
    """Yield the spans of ends of a secret, each as long as possible."""
    start = text.find(form[-MIN_LENGTH:])
    while start >= 0:
        stop = start + MIN_LENGTH
        before = text[max(stop - len(form), 0) : stop]
        yield stop - _common(form[::-1], before[::-1]), stop
        start = text.find(form[-MIN_LENGTH:], start + 1)


def _common(first: bytes, second: bytes) -> int:
    """Return the length of the common beginning."""
    pairs = enumerate(zip(first, second, strict=False))
    return next(
        (place for place, (left, right) in pairs if left != right), min(len(first), len(second))
    )


def _forms(secrets: Mapping[str, str]) -> Iterator[tuple[bytes, str]]:
    """Yield the bytes to search for, with the name of the secret: each value unchanged, and each
    value without escapes, because the readings have no escapes. A blank may be a ``+`` in a URL.
    """
    for name, secret in secrets.items():
        for line in map(str.strip, secret.splitlines()):
            if len(line) < MIN_LENGTH or line == REDACTED or line.startswith("-----"):
                continue
            value = line.encode("utf-8", "surrogateescape")
            for form in (value, unescape(value), unescape(value.replace(b" ", b"+"))):
                if len(form) >= MIN_LENGTH:
                    yield form, name
