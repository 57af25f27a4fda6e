"""Numbers that look measured and are not, by page: the words around them, and why."""

from __future__ import annotations

NOT_MEASURED: dict[str, dict[str, str]] = {
    "docs/cli.md": {"under two minutes": "the help text of a command"},
}
