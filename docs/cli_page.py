"""Write docs/cli.md from the commands themselves: ``python docs/cli_page.py [--check]``."""

from __future__ import annotations

import inspect
import sys
from enum import Enum
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from kinlearn.cli import app

PAGE = Path(__file__).parent / "cli.md"
# The order in which a new user meets them; a command that is not named here comes last.
ORDER = (
    "demo", "example", "train", "predict", "report", "explain", "compare", "audit", "label",
    "info", "export", "serve", "monitor", "rollback", "plan", "bench", "reproduce",
)  # fmt: skip

HEAD = """# The command line

`kinlearn COMMAND` and `python -m kinlearn COMMAND` are the same (extra `cli`; pictures: `plot`).
`kinlearn COMMAND --help` says what is said here. A refusal is one sentence on standard error and a
non-zero exit. [For a person with a table](tables.md) walks through the commands; this page lists
them. It is made by `python docs/cli_page.py`.

`kinlearn --version` prints the version and stops.
"""


def render() -> str:
    """The whole page."""
    commands = {info.name or info.callback.__name__.replace("_", "-"): info for info in _commands()}
    rank = {name: place for place, name in enumerate(ORDER)}
    names = sorted(commands, key=lambda name: (rank.get(name, len(ORDER)), name))
    return "\n".join([HEAD, *(_section(name, commands[name]) for name in names)])


def _commands() -> list[Any]:
    return [info for info in app.registered_commands if not info.hidden]


def _section(name: str, info: Any) -> str:
    signature = inspect.signature(info.callback)
    hints = get_type_hints(info.callback, include_extras=True)
    arguments, options = [], []
    for parameter in signature.parameters.values():
        shape, declared = _declaration(hints[parameter.name])
        kind = type(declared).__name__
        if kind == "ArgumentInfo":
            arguments.append((parameter, shape, declared))
        elif not getattr(declared, "hidden", False):
            options.append((parameter, shape, declared))
    words = inspect.cleandoc(info.help or info.callback.__doc__ or "")
    usage = " ".join(_placeholder(*argument) for argument in arguments)
    lines = [f"## kinlearn {name}", "", words, "", "```", f"kinlearn {name} {usage}".rstrip()]
    lines[-1] += " [OPTIONS]" if options else ""
    if info.epilog:
        lines.append(info.epilog.removeprefix("Example: "))
    lines += ["```", ""]
    if arguments:
        lines += ["| argument | meaning | default |", "|---|---|---|"]
        lines += [_row(f"`{_name(p, d)}`", p, d) for p, _, d in arguments]
        lines.append("")
    if options:
        lines += ["| option | meaning | default |", "|---|---|---|"]
        lines += [_row(_flags(p, s, d), p, d) for p, s, d in options]
        lines.append("")
    return "\n".join(lines)


def _declaration(hint: Any) -> tuple[Any, Any]:
    """The type and the ``typer.Option`` or ``typer.Argument`` of a parameter."""
    if get_origin(hint) is Annotated:
        shape, *extras = get_args(hint)
        for extra in extras:
            if type(extra).__name__ in ("OptionInfo", "ArgumentInfo"):
                return shape, extra
    raise TypeError(f"A parameter of a command must be Annotated with typer.Option; got {hint}.")


def _name(parameter: inspect.Parameter, declared: Any) -> str:
    return declared.metavar or parameter.name.upper()


def _placeholder(parameter: inspect.Parameter, shape: Any, declared: Any) -> str:
    name = _name(parameter, declared)
    many = "..." if get_origin(shape) is list else ""
    needed = parameter.default in (inspect.Parameter.empty, ...)
    return f"{name}{many}" if needed else f"[{name}{many}]"


def _flags(parameter: inspect.Parameter, shape: Any, declared: Any) -> str:
    # Inside Annotated, Typer takes the first flag for the default until the command is built.
    written = [declared.default, *(declared.param_decls or ())]
    flags = [text for text in written if isinstance(text, str) and text.startswith("-")]
    if not flags:
        flag = "--" + parameter.name.replace("_", "-")
        flags = [f"{flag} / --no-{flag[2:]}"] if shape is bool else [flag]
    value = "" if shape is bool else " " + _value(parameter, shape, declared)
    return ", ".join(f"`{flag}{value}`" for flag in flags)


def _value(parameter: inspect.Parameter, shape: Any, declared: Any) -> str:
    if declared.metavar:
        return declared.metavar
    if get_origin(shape) in (Union, UnionType):
        shape = next(part for part in get_args(shape) if part is not type(None))
    if get_origin(shape) is Literal:
        return "/".join(map(str, get_args(shape)))
    if isinstance(shape, type) and issubclass(shape, Enum):
        return "/".join(str(choice.value) for choice in shape)
    return {int: "NUMBER", float: "NUMBER", Path: "PATH"}.get(shape, "TEXT")


def _row(first: str, parameter: inspect.Parameter, declared: Any) -> str:
    default = parameter.default
    if default in (inspect.Parameter.empty, ...):
        shown = "needed"
    elif isinstance(declared.show_default, str):
        shown = declared.show_default
    elif default is None or default is False or default == "":
        shown = ""
    else:
        shown = f"`{default.value if isinstance(default, Enum) else default}`"
    words = " ".join((declared.help or "").split()).replace("|", "\\|")
    return f"| {first} | {words} | {shown} |"


def main() -> None:
    """Write the page, or say whether it is out of date."""
    if "--check" in sys.argv[1:]:
        if PAGE.read_text(encoding="utf-8") != render():
            sys.exit("docs/cli.md is out of date: run python docs/cli_page.py.")
        return
    PAGE.write_text(render(), encoding="utf-8")


if __name__ == "__main__":
    main()
