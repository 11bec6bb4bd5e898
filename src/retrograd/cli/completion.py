"""`retrograd completion`: what bash and zsh need to complete the command, made from the parser itself."""

from __future__ import annotations

import argparse
from typing import Any

_BASH = """\
# Put into ~/.bashrc:  eval "$(retrograd completion bash)"
_retrograd() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" options="" words=""
  case "${{COMP_WORDS[1]}}" in
{cases}
  esac
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{commands}" -- "$word"))
  elif [[ "$word" == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$word"))
  elif [ -n "$words" ]; then
    COMPREPLY=($(compgen -W "$words" -- "$word"))
  else
    COMPREPLY=($(compgen -f -- "$word"))
  fi
}}
complete -o filenames -F _retrograd retrograd
"""

_ZSH = """\
# Put into ~/.zshrc, behind compinit:  eval "$(retrograd completion zsh)"
_retrograd() {{
  local -a commands options words_here
  commands=({commands})
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  case "$words[2]" in
{cases}
  esac
  if (( $#words_here )); then
    compadd -a words_here
  else
    _alternative 'options:option:(($options))' 'files:file:_files'
  fi
}}
compdef _retrograd retrograd
"""


def add(commands: Any) -> None:
    """Adds the command to the parser."""
    found = commands.add_parser(
        "completion",
        help="print what a shell needs to complete this command",
        description="Prints what bash or zsh evaluates so that the tab key completes this command.",
        epilog='Put into ~/.bashrc:  eval "$(retrograd completion bash)"  (or zsh, into ~/.zshrc)',
    )
    found.add_argument("shell", choices=("bash", "zsh"))
    found.set_defaults(call=show, commands=commands)


def show(arguments: argparse.Namespace) -> int:
    """Prints the script for a shell."""
    print(script(arguments.shell, arguments.commands), end="")
    return 0


def script(shell: str, commands: Any) -> str:
    """What a shell evaluates."""
    helps = {choice.dest: choice.help or "" for choice in commands._choices_actions}
    options = {
        name: [text for action in parser._actions for text in action.option_strings if text.startswith("--")]
        for name, parser in commands.choices.items()
    }
    words = {name: " ".join(_choices(parser)) for name, parser in commands.choices.items()}
    if shell == "bash":
        cases = "\n".join(
            f'    {name}) options="{" ".join(found)}" words="{words[name]}" ;;'
            for name, found in options.items()
        )
        return _BASH.format(cases=cases, commands=" ".join(options))
    cases = "\n".join(
        f"    {name}) options=({' '.join(found)}) words_here=({words[name]}) ;;"
        for name, found in options.items()
    )
    described = " ".join(f"'{name}:{_plain(helps.get(name, ''))}'" for name in options)
    return _ZSH.format(cases=cases, commands=described)


def _choices(parser: argparse.ArgumentParser) -> list[str]:
    """The words that a command takes, if it takes no others."""
    return [word for action in parser._actions if not action.option_strings for word in action.choices or ()]


def _plain(text: str) -> str:
    """A help text within a shell's quotes."""
    return text.replace("'", "").replace(":", ",")
