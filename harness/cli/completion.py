"""The command ``harness completion``: prints a completion script for bash, zsh or fish.

The script has the commands, their options and the choices of these as literals, so the shell does
not start the harness for a completion.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple


class _Option(NamedTuple):
    """An option or a positional argument (without names) of a command."""

    names: tuple[str, ...]
    choices: tuple[str, ...]
    takes_value: bool


_Commands = dict[str, tuple[str, list[_Option]]]
"""The help line and the options of each command."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        'bash: put  eval "$(harness completion bash)"  into ~/.bashrc; zsh: the same with zsh, into'
        " ~/.zshrc after compinit; fish: harness completion fish >"
        " ~/.config/fish/completions/harness.fish."
    )
    parser.add_argument("shell", choices=SHELLS, help="the shell of the script")
    parser.set_defaults(run=_print)


def _print(parsed: argparse.Namespace) -> int:
    print(SHELLS[parsed.shell](_commands()), end="")
    return 0


def _commands() -> _Commands:
    from .main import COMMANDS, parser_of  # `main` imports this module

    (commands,) = (
        action.choices
        for action in parser_of(list(COMMANDS))._actions
        if isinstance(action, argparse._SubParsersAction)
    )
    return {name: (COMMANDS[name].help, [*_options(commands[name])]) for name in COMMANDS}


def _options(parser: argparse.ArgumentParser) -> Iterator[_Option]:
    for action in parser._actions:
        choices = tuple(map(str, action.choices or ()))
        yield _Option(tuple(action.option_strings), choices, action.nargs != 0)


def _names(options: Iterable[_Option]) -> str:
    return " ".join(name for option in options for name in option.names if name[:2] == "--")


def _choices(commands: _Commands) -> Iterator[tuple[str, str, str]]:
    """Yield a command, an option, and the words that may follow; "" for a positional argument."""
    for command, (_, options) in commands.items():
        for option in options:
            if option.choices:
                words = " ".join(map(shlex.quote, option.choices))
                yield from ((command, name, words) for name in option.names or ("",))


def _branches(commands: _Commands, offer: Callable[[str], str]) -> tuple[str, str, str]:
    """Return the branches of three ``case`` commands: of a command and an option with choices, of a
    command with choices for a positional argument, and of a command with options. ``offer``: the
    shell's command that offers words.
    """
    valued, first = (
        "\n".join(
            f"    {shlex.quote(f'{command} {name}'.rstrip())}) {offer(words)} ;;"
            for command, name, words in _choices(commands)
            if bool(name) == is_option
        )
        for is_option in (True, False)
    )
    named = "\n".join(
        f"    {command}) {offer(_names(options))} ;;" for command, (_, options) in commands.items()
    )
    return valued, first, named


def _bash(commands: _Commands) -> str:
    valued, first, named = _branches(commands, lambda words: f"words={shlex.quote(words)}")
    return f"""\
_harness() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} words=
  local command=${{COMP_WORDS[1]}}
  case "$command $before" in
{valued}
  esac
  if [[ -n $words ]]; then :
  elif [[ $COMP_CWORD == 1 ]]; then
    words={shlex.quote(" ".join(commands))}
  elif [[ $current == -* ]]; then
    case "$command" in
{named}
    esac
  else
    case "$command" in
{first}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _harness harness
"""


def _zsh(commands: _Commands) -> str:
    listed = " ".join(shlex.quote(f"{command}:{text}") for command, (text, _) in commands.items())
    valued, first, named = _branches(commands, lambda words: f"compadd -- {words}; return")
    return f"""\
#compdef harness
_harness() {{
  if (( CURRENT == 2 )); then
    local -a commands=({listed})
    _describe command commands
    return
  fi
  case "${{words[2]}} ${{words[CURRENT-1]}}" in
{valued}
  esac
  if [[ ${{words[CURRENT]}} == -* ]]; then
    case ${{words[2]}} in
{named}
    esac
    return
  fi
  case ${{words[2]}} in
{first}
  esac
  _files
}}
compdef _harness harness
"""


def _fish(commands: _Commands) -> str:
    lines = []
    for command, (text, options) in commands.items():
        lines.append(
            f"complete -c harness -n __fish_use_subcommand -f -a {command} -d {_fish_text(text)}"
        )
        on = f"complete -c harness -n '__fish_seen_subcommand_from {command}'"
        for option in options:
            words = _fish_text(" ".join(option.choices))
            names = " ".join(
                f"-l {name[2:]}" if name[:2] == "--" else f"-s {name[1:]}" for name in option.names
            )
            if option.choices:
                lines.append(f"{on} {names} -x -a {words}".replace("  ", " "))
            elif names:
                lines.append(f"{on} {names}{' -r' if option.takes_value else ''}")
    return "\n".join(lines) + "\n"


def _fish_text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


SHELLS: Final[dict[str, Callable[[_Commands], str]]] = {
    "bash": _bash,
    "zsh": _zsh,
    "fish": _fish,
}
