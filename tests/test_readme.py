"""What the README and the pages print runs, and what they name exists."""

import re
import shlex
from importlib.util import find_spec
from pathlib import Path

import pytest
import sklearn
import typer
import yaml
from typer.testing import CliRunner

from kinlearn.cli import app

ROOT = Path(__file__).parent.parent
MADE_AT_BUILD = ("auto_examples", "_build", "generated")


def pages():
    """The README, how to contribute, and every page of the documentation."""
    found = sorted((ROOT / "docs").rglob("*.md"))
    inside = [p for p in found if not set(MADE_AT_BUILD) & set(p.relative_to(ROOT).parts)]
    return [
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "experiments/README.md")),
        *inside,
    ]


def name_of(path):
    return path.relative_to(ROOT).as_posix()


FENCE = re.compile(r"^(?P<fence>`{3,})(?P<kind>[^\n]*)\n(?P<code>.*?)^(?P=fence)[ ]*$", re.M | re.S)


def fenced(text, kinds):
    """The code of blocks of these kinds, as Markdown or as a directive."""
    known = {*kinds, *(f"{{code-block}} {kind}" for kind in kinds)}
    return [m["code"] for m in FENCE.finditer(text) if m["kind"].strip() in known]


# tests/test_guide.py runs these and compares what they print
RUN_WITH_THE_GUIDE = ("few_labels", "many_sites", "many_tags", "features_differ", "too_big")
RUN_WITH_THE_GUIDE += ("must_not_be_wrong", "migrating", "extending")
WITH_PYTHON = [
    path
    for path in pages()
    if path.stem not in RUN_WITH_THE_GUIDE and fenced(path.read_text("utf-8"), ["python"])
]


@pytest.mark.parametrize("path", WITH_PYTHON, ids=name_of)
def test_examples_run(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = fenced(path.read_text("utf-8"), ["python"])
    try:
        exec(compile("\n".join(blocks), name_of(path), "exec"), {"__name__": "page"})
    finally:
        sklearn.set_config(enable_metadata_routing=False)


def commands(text):
    """Commands in blocks and in running text, one string each, without comments."""
    lines = []
    for block in fenced(text, ["", "bash", "sh", "shell", "console"]):
        lines += block.replace("\\\n", " ").splitlines()
    prose = FENCE.sub("", text)
    lines += re.findall(r"(?<!`)`((?:kinlearn|make|python)\s[^`\n]*)`", prose)
    for line in lines:
        line = line.strip().removeprefix("$ ").split("  #")[0].strip()
        if re.match(r"(?:kinlearn|make|python -m kinlearn(?:_experiments\.\S+)?)(?:\s|$)", line):
            yield line.replace("python -m kinlearn ", "kinlearn ")


QUOTED = [
    pytest.param(path, id=name_of(path))
    for path in pages()
    if list(commands(path.read_text("utf-8")))
]


def targets():
    return set(re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(), flags=re.M))


def wrong_with(command):
    """What is wrong with a command, or None."""
    if "…" in command or "..." in command:
        command = re.split("…|[.]{3}", command)[0]
    program, *words = shlex.split(command, comments=True)
    if program == "make":
        unknown = [w for w in words if "=" not in w and w not in targets()]
        return f"make has no target {unknown[0]}" if unknown else None
    if program == "python":
        return None if find_spec(words[1]) is not None else f"there is no {words[1]}"
    main = typer.main.get_command(app)
    if not words or words[0].isupper():  # kinlearn alone, or kinlearn COMMAND
        return None
    if words[0].startswith("-"):
        known, name = main, "kinlearn"
    elif words[0] in main.commands:
        known, name = main.commands[words[0]], f"kinlearn {words[0]}"
        known = getattr(known, "further", dict)().get(words[1] if len(words) > 1 else "", known)
    else:
        return f"kinlearn has no command {words[0]}"
    options = {"--help", *(o for p in known.params for o in (*p.opts, *p.secondary_opts))}
    unknown = [w for w in words if w.startswith("-") and w.split("=")[0] not in options]
    return f"{name} has no option {unknown[0]}" if unknown else None


@pytest.mark.parametrize("path", QUOTED)
def test_commands_exist(path):
    found = {c: wrong_with(c) for c in commands(path.read_text("utf-8"))}
    wrong = [f"{name_of(path)} prints {c!r}, but {why}." for c, why in found.items() if why]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("kinlearn train a.csv --target b --out c.kin", None),
        ("kinlearn --version", None),
        ("make demo OUT=folder", None),
        ("python -m kinlearn_experiments.measures.klr --quick", None),
        ("kinlearn teach a.csv", "kinlearn has no command teach"),
        ("kinlearn train a.csv --goal b", "kinlearn train has no option --goal"),
        ("make coffee", "make has no target coffee"),
        (
            "python -m kinlearn_experiments.measures.none",
            "there is no kinlearn_experiments.measures.none",
        ),
    ],
)
def test_commands_are_checked(command, why):
    assert wrong_with(command) == why


def test_commands_are_found():
    text = (
        "Run `kinlearn info m.kin` or `makeup`.\n\n```\nkinlearn train a.csv \\\n  --target b  "
        "# now\n```\n\n```text\nkinlearn nonsense\n```\n\n```python\nkinlearn\n```\n"
    )
    found = [" ".join(command.split()) for command in commands(text)]
    assert sorted(found) == ["kinlearn info m.kin", "kinlearn train a.csv --target b"]


def test_the_walk_with_a_table_works_as_printed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = [c for c in commands((ROOT / "README.md").read_text("utf-8")) if "clinic.csv" in c]
    assert [command.split()[1] for command in found] == ["example", "train", "predict"]
    for command in found:
        few = ["--rows", "150"] if " example " in command else []  # 900 rows take a while
        done = CliRunner().invoke(app, [*shlex.split(command)[1:], *few])
        assert done.exit_code == 0, done.output
    assert "decision" in Path("scored.csv").read_text("utf-8").splitlines()[0]
    assert Path("report.html").stat().st_size > 10_000


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_links_lead_somewhere(name):
    text = FENCE.sub("", (ROOT / name).read_text("utf-8"))
    links = [link.split("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", text)]
    missing = [link for link in links if "://" not in link and not (ROOT / link).exists()]
    assert not missing, f"{name} links to {missing}, which do not exist."


def places_of_the_map():
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    rows = re.findall(r"^\| (`.+?) \|", text, flags=re.M)
    found = []
    for row in rows:
        first, *others = re.findall(r"`([^`]+)`", row)
        found += [first, *(f"{Path(first).parent.as_posix()}/{other}" for other in others)]
    return found


def test_the_map_of_the_tree_is_true():
    places = places_of_the_map()
    missing = [place for place in places if not (ROOT / place).exists()]
    assert not missing, f"The map in CONTRIBUTING.md names {missing}, which do not exist."
    package = ROOT / "src" / "kinlearn"
    rooms = [f"src/kinlearn/{p.name}/" for p in package.iterdir() if (p / "__init__.py").exists()]
    rooms += [f"src/kinlearn/{p.name}" for p in package.glob("*.py") if "__" not in p.name]
    left_out = sorted(set(rooms) - set(places))
    assert not left_out, f"The map in CONTRIBUTING.md leaves out {left_out}."


def test_the_citation_names_the_software_and_the_four_papers():
    import kinlearn

    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert cited["cff-version"] == "1.2.0"
    assert (cited["type"], cited["license"]) == ("software", "BSD-3-Clause")
    assert str(cited["version"]) == kinlearn.__version__
    first = [(r["authors"][0]["family-names"], r["year"]) for r in cited["references"]]
    assert first == [("Yamada", 2011), ("Simm", 2011), ("Nam", 2012), ("Zhang", 2011)]
    for reference in cited["references"]:
        assert reference["title"]
        assert "journal" in reference or "collection-title" in reference
