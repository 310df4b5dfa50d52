"""The documentation is run: every `console` block's commands, every `python` block, page by page, in order.

A block after `<!-- not run: reason -->` is left out; the reason says why it cannot run here.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bique.config import Setting, describe

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(
    r"(?:<!-- not run: (?P<reason>[^>]+) -->\n+)?```(?P<kind>console|python|text|toml)[^\n]*\n(?P<code>.*?)```", re.S
)


def commands(code: str) -> list[str]:
    """The lines behind `$ `; a backslash at the end joins the next line."""
    joined = code.replace("\\\n", " ")
    return [line.removeprefix("$ ") for line in joined.splitlines() if line.startswith("$ ")]


def run_command(command: str, bique: Any, folder: Path) -> str:
    """What it printed. `bique …` runs in this process (it is quicker); anything else by the shell."""
    words = shlex.split(command, comments=True)
    if words[:3] == ["python", "-m", "bique"]:
        words = words[2:]
    if words[0] == "bique":
        done = bique(*words[1:])
        assert done.code == 0, f"{command}\n{done.err}"
        return f"{done.err}\n{done.out}\n"
    if words[0] == "python":
        words[0] = sys.executable
    line = shlex.join(words) if words[0] == sys.executable else command
    shell = subprocess.run(line, shell=True, cwd=folder, check=False, stdout=subprocess.PIPE, text=True)
    assert shell.returncode == 0, command
    return shell.stdout


def bare_words(text: str) -> str:
    """Without figures, bars and lines: another processor adds up in another order, another screen breaks elsewhere."""
    return " ".join(["", *re.findall(r"[^\W\d_]+", text), ""])


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_blocks_of_a_page_run_in_order(
    page: Path, bique: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "recipes").symlink_to(ROOT / "recipes")
    names: dict[str, Any] = {}
    printed = ""
    for block in BLOCK.finditer(page.read_text(encoding="utf-8")):
        if block["reason"]:
            continue
        if block["kind"] == "python":
            exec(compile(block["code"], str(page), "exec"), names)
        elif block["kind"] == "console":
            for command in commands(block["code"]):
                printed += run_command(command, bique, tmp_path)
        elif block["kind"] == "text" and printed:  # an excerpt: each of its lines was printed by a command above it
            for line in block["code"].splitlines():
                assert bare_words(line) in bare_words(printed), f"{page.name} quotes what was not printed: {line}"


# taken with a browser of the report that the page writes
SCREENSHOTS = {"report.png": "report.html", "relation.png": "report.html"}


def test_the_pictures_of_the_tutorial_are_those_that_its_commands_write() -> None:
    page = ROOT / "docs" / "tutorial.md"
    text = page.read_text(encoding="utf-8")
    words = [shlex.split(line) for block in BLOCK.finditer(text) for line in commands(block["code"])]
    written = {line[line.index("--out") + 1] for line in words if "--out" in line}
    shown = re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", text)
    assert len(shown) >= 5
    for alternative, link in shown:
        picture = page.parent / link
        assert picture.is_file(), link
        assert SCREENSHOTS.get(picture.name, picture.name) in written, f"no command of the page writes {picture.name}"
        assert len(alternative) > 20, f"{link} says too little to whoever does not see it"
    assert {picture.name for picture in (page.parent / "tutorial").iterdir()} == {Path(link).name for _, link in shown}


def test_every_page_is_in_the_menu_and_every_link_leads_somewhere() -> None:
    menu = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in (ROOT / "docs").rglob("*.md"):
        assert page.relative_to(ROOT / "docs").as_posix() in menu
    for page in PAGES:
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / link).exists(), f"{page.name}: {link}"


def test_the_table_of_settings_is_the_schemas() -> None:
    page = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    table = "\n".join(["| key | default | meaning |", "|---|---|---|", *map(settings_row, describe())])
    assert table in page, f"docs/reference.md must hold this table:\n{table}"


def test_the_table_of_models_is_that_of_the_code() -> None:
    from bique.cli.models import _card
    from bique.models import MODELS

    rows = [_card(name) for name in MODELS]
    lines = [
        f"| `{one.name}` | {one.formula.replace('|', chr(92) + '|')} | {one.regime} | {one.reference} |" for one in rows
    ]
    table = "\n".join(["| model | score | published regime | reference |", "|---|---|---|---|", *lines])
    page = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
    assert table in page, f"docs/models.md must hold this table:\n{table}"


def settings_row(setting: Setting) -> str:
    default = "–" if setting.default is None else f"`{setting.default}`"
    key = f"`{setting.key}`" if setting.model is None else f"`{setting.key}` ({setting.model})"
    return f"| {key} | {default} | {setting.meaning.replace('|', chr(92) + '|')} |"


@pytest.mark.slow
def test_the_documentation_builds_without_a_warning(tmp_path: Path) -> None:
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "paper" / "index.html").exists()
