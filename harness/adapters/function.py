"""A user's functions as adapters: imports them, calls them, and reads their results."""

from __future__ import annotations

import ast
import inspect
import sys
import time
import weakref
from collections.abc import AsyncIterable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import copy_context
from difflib import get_close_matches
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from harness.facts import Entry, Skipped
from harness.providers import PROVIDERS
from harness.stream.exchange import Exchange

from .adapter import UNKNOWN, AdapterError
from .at import At, Question, at_of_line, fields_of, usual_wires, with_streamed
from .environment import without_keys
from .json_data import json_of_native
from .neutral_words import Words
from .raised import raised_by, trim
from .reply import Reply, ReplyLevel, called, checked_facts
from .wires import text_of_bytes

if TYPE_CHECKING:
    import asyncio  # slow to import, and only a function needs it

_EXPECTED: Final[Mapping[ReplyLevel, str]] = {
    "facts": "pairs (native, [facts])",
    "payloads": "payloads",
    "wire": "chunks or events of the wire, as objects or text",
}


class FunctionAsker:
    """A function that a user names as ``module:function``, and ``converse`` in the same module.

    ``PROVIDERS`` of its module names the wires that it reads. By default it reads all wires, and
    has no sessions at a served address.
    ``THOUGHTS = False`` there says that the adapter can't ask for thoughts.
    ``served``: the function gets an `At`, otherwise the `Exchange`. Raises `AdapterError` if the
    module or function does not exist.
    """

    def __init__(self, target: str, level: ReplyLevel, folder: Path, *, served: bool) -> None:
        self.target = target
        self._level = level
        self._served = served
        self._module, self._function = _find(target, folder, served=served)
        self._converse = getattr(self._module, "converse", None) if served else None
        self.converses = self._converse is not None
        self.asks_thoughts = getattr(self._module, "THOUGHTS", True) is not False
        wires = getattr(self._module, "PROVIDERS", None) or usual_wires(served=served)
        if isinstance(wires, str):
            raise AdapterError(
                f'PROVIDERS is the string {wires!r}; expected a tuple, such as ("gemini-api",)'
            )
        self.providers = tuple(wires)
        if unknown := {*self.providers} - {*PROVIDERS}:
            raise AdapterError(
                f"PROVIDERS of {target} names {min(unknown)}; expected {', '.join(PROVIDERS)}"
            )

    @property
    def version(self) -> str:
        """The version of the distribution that ``VERSION_OF`` of the module names."""
        try:
            return version(str(getattr(self._module, "VERSION_OF", ""))) or UNKNOWN
        except (PackageNotFoundError, ValueError):
            return UNKNOWN

    def reply(self, line: Words, exchange: Exchange, reply: Reply, loop: asyncio.Runner) -> None:
        """Call the function, and add each event to ``reply`` when it arrives. ``line``: the fields
        of a question (`fields_of`). Raises `AdapterError` for a value that a function may not
        return.
        """
        function: Any = self._function
        argument: Any
        if not self._served:
            argument = with_streamed(exchange)
        else:
            if line["turn"] == 2 or ("question" in line and self._converse is not None):
                function = self._converse
            argument = at_of_line(line, exchange)
        try:
            certificate = (line["script"] or {}).get("certificate", "") if self._served else ""
            with without_keys(served=self._served, certificate=certificate):
                silent = function is self._converse
                self._gather(function, argument, reply, loop, silent=silent)
        except (AdapterError, KeyboardInterrupt):
            raise
        except Skipped as skipped:
            reply.skipped = str(skipped) or "no reason is given"
        except BaseException as error:  # it may raise any exception
            if not trim(error):
                raise AdapterError(
                    f"{self.target} can't be called with"
                    f" {'at' if self._served else 'an exchange'}: {error}"
                ) from error
            reply.raised, reply.exception = raised_by(error), error
        finally:
            if isinstance(argument, At):
                reply.read = argument.values_read()

    def _gather(
        self, function: Any, argument: Any, reply: Reply, loop: asyncio.Runner, *, silent: bool
    ) -> None:
        given = function(argument)
        if inspect.isawaitable(given):
            given = loop.run(_awaited(given))
        if given is None and silent:
            return
        if self._level == "wire" and isinstance(given, str | bytes | Mapping):
            given = [given]

        def take(item: Any) -> None:
            reply.add(self._entry(item, len(reply.entries) + 1, given), time.monotonic())

        if isinstance(given, AsyncIterable):
            loop.run(_take_each(given, take))
        elif isinstance(given, Iterable) and not isinstance(given, str | bytes | Mapping):
            with _closed(given):
                for item in given:
                    take(item)
        else:
            raise AdapterError(
                f"{_place(function)}: {self.target} returned {called(given)}; expected a list or"
                f" generator of {_EXPECTED[self._level]}"
            )

    def _entry(self, item: Any, number: int, given: Any) -> Entry:
        if self._level == "wire" and isinstance(item, bytes | bytearray | memoryview):
            return Entry(text_of_bytes(bytes(item)))
        if self._level != "facts":
            return Entry(json_of_native(item))
        place = f"{_line_of(given) or _place(self._function)}: event {number} of {self.target}"
        if not isinstance(item, tuple | list) or len(item) != 2:
            raise AdapterError(
                f"{place} is {called(item)}; expected a pair (native, [facts]), with an empty list"
                " where the event states no fact"
            )
        native, facts = item
        return Entry(json_of_native(native), checked_facts(facts, place))


class InProcess:
    """Calls a function in this process, as pytest calls a test: without limits and guards."""

    def __init__(self, function: FunctionAsker) -> None:
        self.version = function.version
        self.providers = function.providers
        self.converses = function.converses
        self.asks_thoughts = function.asks_thoughts
        self._function = function
        self._open()

    def _open(self) -> None:
        import asyncio  # slow to import

        self._loop = asyncio.Runner()
        self._end = weakref.finalize(self, _outside_loops, self._loop.close)

    def ask(self, question: Question, timeout: float) -> Reply:
        """Return the reply to a question. ``timeout`` is not used. Raises `AdapterError`."""
        if not self._end.alive:
            self._open()
        reply = Reply()
        line = fields_of(question) if question.base_url else {}
        _outside_loops(partial(self._function.reply, line, question.exchange, reply, self._loop))
        return reply

    def close(self) -> None:
        """End the tasks that the function has left."""
        self._end()


def _outside_loops(call: Callable[[], None]) -> None:
    """Call a function that runs an event loop. An asynchronous test runs one already in this
    thread; then another thread calls the function.
    """
    if not _loop_runs():
        call()
        return
    from concurrent.futures import ThreadPoolExecutor  # slow to import

    with ThreadPoolExecutor(1) as executor:
        executor.submit(copy_context().run, call).result()


def _loop_runs() -> bool:
    import asyncio  # slow to import

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _find(target: str, folder: Path, *, served: bool) -> tuple[Any, Any]:
    """Return the module and the function of a target. ``folder`` is added to ``sys.path``, as
    `python -m pytest` adds the folder of the tests.
    """
    name, _, path = target.partition(":")
    folder = folder.absolute()  # a relative path would change with the working folder
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    _refuse_own_name(name, target)
    try:
        with without_keys(served=served):
            module = import_module(name)
        function: Any = module
        for part in path.split("."):
            function = getattr(function, part)
    except Exception as error:  # the import runs foreign code
        trim(error)
        missing = isinstance(error, ModuleNotFoundError) and error.name == name.partition(".")[0]
        raise AdapterError(
            f"{target} can't be imported: {type(error).__name__}: {error}"
            + (f"; expected it in {folder}, or installed" if missing else _near_attribute(error))
        ) from error
    if not callable(function):
        raise AdapterError(f"{target} is not a function")
    return module, function


def _near_attribute(error: Exception) -> str:
    """Return a hint to the attribute that is most like a missing one, or ""."""
    if not isinstance(error, AttributeError) or not error.name or error.obj is None:
        return ""
    known = [name for name in dir(error.obj) if not name.startswith("_")]
    near = get_close_matches(error.name, known, 1)
    return f"; did you mean {near[0]}?" if near else ""


def _refuse_own_name(name: str, target: str) -> None:
    """Raise `AdapterError` for a module that imports a package of its own name: it would import
    itself.
    """
    with suppress(ImportError, ValueError, OSError, SyntaxError):
        spec = find_spec(name) if "." not in name and name not in sys.modules else None
        if spec is None or not spec.origin or spec.submodule_search_locations is not None:
            return
        path = Path(spec.origin)
        for node in ast.walk(ast.parse(path.read_bytes())):
            match node:
                case ast.Import(names=names):
                    imported = [alias.name for alias in names]
                case ast.ImportFrom(module=str(module), level=0):
                    imported = [module]
                case _:
                    continue
            if any(one.partition(".")[0] == name for one in imported):
                raise AdapterError(
                    f"{target}: {path.name}:{node.lineno} imports {name}, but {path.name} has that"
                    " name, so it imports itself; rename the file"
                )


async def _awaited(given: Any) -> Any:
    return await given


async def _take_each(given: AsyncIterable[Any], take: Callable[[Any], None]) -> None:
    async for item in given:
        take(item)


@contextmanager
def _closed(given: Iterable[Any]) -> Iterator[None]:
    """Close a generator now, and not during a later exchange. Closing may raise an exception."""
    try:
        yield
    finally:
        if inspect.isgenerator(given):
            with suppress(Exception):  # a generator of the user may raise anything
                given.close()


def _line_of(given: Any) -> str:
    """Return the line of a generator's last ``yield``, such as ``shop.py:12``; "" for a list."""
    while getattr(given, "gi_yieldfrom", None) is not None and inspect.isgenerator(
        given.gi_yieldfrom
    ):
        given = given.gi_yieldfrom
    frame = getattr(given, "gi_frame", None) or getattr(given, "ag_frame", None)
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}" if frame else ""


def _place(function: Any) -> str:
    code = getattr(inspect.unwrap(function), "__code__", None)
    return f"{Path(code.co_filename).name}:{code.co_firstlineno}" if code else repr(function)
