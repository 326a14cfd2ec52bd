"""The house keeps its order where import-linter cannot see it: surfaces, imports at the top, a small root."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import prudent

ROOT = Path(prudent.__file__).parent
SURFACES = {"prudent.evaluation.effects", "prudent.web.hooks", "prudent.worlds.insulin"}
"""Rooms within rooms that have a surface of their own."""
LIGHT = ROOT / "command_line" / "commands.py"  # `prudent --help` must not wait for JAX
FILES = sorted(path for path in ROOT.rglob("*.py") if path.parent != ROOT)


def imported_modules(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_other_rooms_are_seen_by_their_surface_at_the_top_of_a_file(path: Path):
    tree, room = ast.parse(path.read_text(encoding="utf-8")), path.relative_to(ROOT).parts[0]
    for module in imported_modules(tree):
        parts = module.split(".")
        inner = parts[0] == "prudent" and len(parts) > 2 and parts[1] != room
        assert not inner or module in SURFACES, f"{module} is inside another room"
    nested = {
        module
        for node in tree.body
        if not isinstance(node, ast.Import | ast.ImportFrom)
        for module in imported_modules(node)
    }
    ours = {module for module in nested if module.split(".")[0] == "prudent"}
    assert path == LIGHT or not ours


def test_the_root_is_small():
    assert {path.stem for path in ROOT.glob("*.py")} == {"__init__", "errors", "progress", "writing"}
    assert len(prudent.__all__) <= 32
