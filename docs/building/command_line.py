"""The reference of the command line, generated from the program."""

import re
from collections.abc import Iterator

import typer

from headstart.cli import app

# The click that typer uses may be its own: its types are known by what they can do.
Command = object


def command_line_page() -> str:
    """All commands with their arguments and options, as Markdown."""
    root = typer.main.get_command(app)
    text = "\n".join(_command(root, "headstart"))
    return (
        "# Commands and options\n\n"
        "Generated from the program; `headstart COMMAND --help` prints the same.\n\n" + text
    )


def _command(command: object, path: str) -> Iterator[str]:
    subcommands: dict[str, object] = getattr(command, "commands", {})
    if path != "headstart":
        yield f"({path.replace(' ', '-')})=\n"
        yield f"{'##' if subcommands or path.count(' ') == 1 else '###'} {path}\n"
    yield _prose(getattr(command, "help", None) or "") + "\n"
    parameters = list(getattr(command, "params", []))
    shown = [p for p in parameters if not getattr(p, "hidden", False)]
    if not subcommands:
        yield f"```text\n{_usage(path, shown)}\n```\n"
    if shown:
        yield "| | | default |\n|---|---|---|"
        yield from (_row(parameter) for parameter in shown)
        yield ""
    for name, subcommand in subcommands.items():
        yield from _command(subcommand, f"{path} {name}")


def _usage(path: str, parameters: list[object]) -> str:
    words = [path, "[OPTIONS]"]
    for parameter in parameters:
        if not _is_option(parameter):
            name = str(getattr(parameter, "human_readable_name", "")).upper()
            name += "..." if getattr(parameter, "nargs", 1) == -1 else ""
            words.append(name if getattr(parameter, "required", False) else f"[{name}]")
    return " ".join(words)


def _is_option(parameter: object) -> bool:
    return getattr(parameter, "param_type_name", "") == "option"


def _row(parameter: object) -> str:
    if _is_option(parameter):
        spellings = [*getattr(parameter, "opts", []), *getattr(parameter, "secondary_opts", [])]
        names = ", ".join(f"`{name}`" for name in spellings)
        if not getattr(parameter, "is_flag", False):
            names += f" {_kind(parameter)}"
    else:
        names = f"`{str(getattr(parameter, 'human_readable_name', '')).upper()}`"
    help_text = _prose(getattr(parameter, "help", None) or "").replace("\n", " ")
    return f"| {names} | {help_text.replace('|', chr(92) + '|')} | {_default(parameter)} |"


def _kind(parameter: object) -> str:
    kind = getattr(parameter, "type", None)
    choices = getattr(kind, "choices", None)
    if choices:
        return " \\| ".join(str(getattr(choice, "value", choice)) for choice in choices)
    return str(getattr(parameter, "metavar", None) or getattr(kind, "name", "text")).upper()


def _default(parameter: object) -> str:
    if getattr(parameter, "required", False):
        return "required"
    default = getattr(parameter, "default", None)
    if default is None or default is False or callable(default) or default in ([], (), ""):
        return ""
    return f"`{getattr(default, 'value', default)}`"


def _prose(text: str) -> str:
    """A help text as Markdown: words in capitals that stand for values stay as they are."""
    return re.sub(r"[ \t]*\n[ \t]*(?=\S)", " ", text.replace("\b", "").strip())
