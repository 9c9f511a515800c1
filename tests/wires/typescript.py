"""The shapes of the types in a TypeScript declaration file, as SDKs for Node have them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from .shapes import Choice, ListOf, MapOf, Object, Scalar, Shape, Words

_COMMENT = re.compile(r"/\*.*?\*/|(?m:^)[ \t]*//[^\n]*", re.DOTALL)
_KINDS = r"(type|interface|class|enum) (\w+\$?)([^={;]*)(=?)\s*"
_DECLARED = re.compile(rf"^(?:export )?declare (?:abstract )?{_KINDS}", re.MULTILINE)
_EXPORTED = re.compile(rf"^ *(?:export )?(?:declare )?(?:abstract )?{_KINDS}", re.MULTILINE)
"""Also the types in namespaces, and those that a module exports; of several with one name, the last."""
_MEMBER = re.compile(r"\s*(?:readonly )?[\"']?(\w+)[\"']?\??:\s*", re.DOTALL)
_ENUM = re.compile(r'\w+ = "([^"]*)"')
_EXTENDS = re.compile(r"extends ([\w$]+)")
_EXAMPLES = {"string": "x1", "number": 3, "boolean": True, "unknown": "x1", "any": "x1"}
_OPEN, _CLOSE = "{[(<", "}])>"


class Declarations:
    """The top-level types of a declaration file, by name. ``is_module``: one of the modules of an
    SDK, not a bundle of all.
    """

    def __init__(self, text: str, *, is_module: bool = False) -> None:
        self._text = _COMMENT.sub("", text)
        declared = _EXPORTED if is_module else _DECLARED
        self._places = {match[2]: match for match in declared.finditer(self._text)}
        self._objects: dict[str, Object] = {}
        self._open: set[str] = set()
        """The names that are read: one that is an alias of its own name in another module is a text."""

    def shape(self, name: str, field: str = "") -> Shape:
        """The shape of a type. A type that is not in the file is a text. ``field``: the place of a
        list of words, which has no name of its own.
        """
        match = self._places.get(name)
        if match is None or name in self._open:
            return Scalar("x1")
        kind, _, head, equals = match.groups()
        if kind == "enum":
            return Words(_plain(name), tuple(_ENUM.findall(self._until(match.end() + 1, "}"))))
        if kind == "type" and equals and not self._text.startswith("{", match.end()):
            self._open.add(name)
            shape = self._read_type(self._until(match.end(), ";"), field or _plain(name))
            self._open.remove(name)
            return shape
        if name not in self._objects:
            base = _EXTENDS.search(head)
            end = match.end()

            def read() -> Mapping[str, Shape]:
                fields: Mapping[str, Shape] = {}
                if base and base[1] not in self._open:
                    self._open.add(name)
                    inherited = self.shape(base[1])
                    fields = inherited.fields() if isinstance(inherited, Object) else {}
                    self._open.remove(name)
                return {**fields, **self._fields(self._until(end + 1, "}"), name)}

            self._objects[name] = Object(_plain(name), read)
        return self._objects[name]

    def _until(self, start: int, mark: str) -> str:
        """The text up to a mark outside of brackets."""
        depth = 0
        for at in range(start, len(self._text)):
            character = self._text[at]
            if depth == 0 and character == mark:
                return self._text[start:at]
            arrow = character == ">" and self._text[at - 1] == "="
            depth += (character in _OPEN) - (character in _CLOSE and not arrow)
        return self._text[start:]

    def _fields(self, body: str, name: str) -> dict[str, Shape]:
        fields = {}
        for member in _split(body, ";"):
            match = _MEMBER.match(member)
            if match and "private" not in member[: match.end()]:
                shape = self._read_type(member[match.end() :], f"{_plain(name)}.{match[1]}")
                if isinstance(shape, Words) and len(shape.words) == 1 and "?" not in match[0]:
                    shape = replace(shape, fixed=True)
                fields[match[1]] = shape
        return fields

    def _read_type(self, text: str, name: str) -> Shape:
        options = [option.strip() for option in _split(text.strip(), "|")]
        options = [option for option in options if option not in ("undefined", "null", "")]
        words = [option[1:-1] for option in options if option[:1] in "\"'"]
        others = [option for option in options if option[:1] not in "\"'"]
        known = [self._read_one(option, name) for option in others if not _is_open(option)]
        shapes = [Words(name, tuple(words))] * bool(words) + known
        return shapes[0] if len(shapes) == 1 else Choice(tuple(shapes))

    def _read_one(self, text: str, name: str) -> Shape:
        if text.endswith("[]"):
            return ListOf(self._read_type(text[:-2].strip("()"), name))
        generic, _, inside = text.removesuffix(">").partition("<")
        arguments = _split(inside, ",")
        if generic in ("Array", "ReadonlyArray") and arguments:
            return ListOf(self._read_type(arguments[0], name))
        if generic == "Record" and len(arguments) > 1:
            return MapOf(self._read_type(arguments[1], name))
        if text.startswith("{"):
            return MapOf(Scalar("x1"))
        if text in _EXAMPLES:
            return Scalar(_EXAMPLES[text])
        return self.shape(text.rpartition(".")[2], name)


def _plain(name: str) -> str:
    """A name without the mark by which a bundler keeps equal names apart."""
    return re.sub(r"(\$\d*|_\d+)$", "", name)


def _is_open(option: str) -> bool:
    """Whether an option only says that an enumeration may have new words."""
    return "Unrecognized" in option or option.startswith("OpenEnum") or "(string &" in option


def _split(text: str, mark: str) -> list[str]:
    """The parts of a text between marks outside of brackets and quotes."""
    parts, depth, start, quote = [], 0, 0, ""
    for at, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character == mark and depth == 0:
            parts.append(text[start:at])
            start = at + 1
        else:
            arrow = character == ">" and text[at - 1 : at] == "="
            depth += (character in _OPEN) - (character in _CLOSE and not arrow)
    return [*parts, text[start:]]
