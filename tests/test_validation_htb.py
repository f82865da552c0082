"""Trees of classes beside HTB of Linux: what each leaf is given."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "validation"))

import htb
from htb import TREES, Tree

SOME = 5
"""Every so many trees are held to their rows by day."""


def test_every_tree_has_its_row() -> None:
    given = htb.rows()
    assert list(given) == [tree.name for tree in TREES]
    assert all(list(given[tree.name]) == list(tree.leaves) for tree in TREES)


@pytest.mark.parametrize(
    "tree",
    [pytest.param(tree, id=tree.name, marks=pytest.mark.nightly if i % SOME else []) for i, tree in enumerate(TREES)],
)
def test_a_leaf_is_given_what_linux_gives_it(tree: Tree) -> None:
    assert bool(htb.differing(tree, htb.rows()[tree.name])) == (tree.name in htb.EXCEPTIONS)
