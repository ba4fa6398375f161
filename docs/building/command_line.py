"""The reference of the command line, generated from the program: what `--help` says, as a page."""

import re
from collections.abc import Iterator
from typing import Any

import typer

from headstart.cli import app


def command_line_page() -> str:
    """All commands with their arguments and options, as Markdown."""
    root = typer.main.get_command(app)
    text = "\n".join(_command(root, "headstart"))
    return (
        "# Commands and options\n\n"
        "Generated from the program; `headstart COMMAND --help` prints the same.\n\n" + text
    )


def _command(command: Any, path: str) -> Iterator[str]:
    context = typer.Context(command, info_name=path)
    if path != "headstart":
        yield f"({path.replace(' ', '-')})=\n"
        yield f"{'##' if path.count(' ') == 1 else '###'} {path}\n"
    yield f"{_line(command.help or '')}\n"
    subcommands: dict[str, Any] = getattr(command, "commands", {})
    if not subcommands:
        usage = " ".join(command.get_usage(context).removeprefix("Usage: ").split())
        yield f"```text\n{usage}\n```\n"
    records = [parameter.get_help_record(context) for parameter in command.params]
    shown = [record for record in records if record is not None]
    if shown:
        yield "| argument or option | is |\n|---|---|"
        yield from (f"| {_names(names)} | {_line(text)} |" for names, text in shown)
        yield ""
    for name, subcommand in subcommands.items():
        yield from _command(subcommand, f"{path} {name}")


def _names(record: str) -> str:
    """The spellings of an option and the kind of its value, or an argument."""
    options = re.findall(r"--?[a-z][\w-]*", record)
    kind = record[record.rfind(options[-1]) + len(options[-1]) :] if options else ""
    spelled = ", ".join(f"`{name}`" for name in options) or f"`{record.strip()}`"
    return f"{spelled} {_line(kind)}".strip()


def _line(text: str) -> str:
    """A text in one line, as Markdown within a table."""
    joined = " ".join(text.replace("\b", "").split())
    return re.sub(r"([|<>])", r"\\\1", joined)
