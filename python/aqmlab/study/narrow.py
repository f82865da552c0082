"""Narrower checks of a claim: a part of its places and schemes that holds wherever the whole does.

If one of them fails the claim fails, and the other runs are not needed.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations, pairwise

from aqmlab.study.ledger import Claim


def witnesses(claim: Claim, fails: Callable[[Claim], bool], cost: Callable[[Claim], int], most: int) -> list[Claim]:
    """Return up to `most` narrower checks that fail, each of other places, the cheapest first."""
    found = []
    for places in _places(claim):
        failing = [narrow for narrow in _among(replace(claim, groups=places, control=())) if fails(narrow)]
        if failing:
            found.append(min(failing, key=cost))
    return sorted(found, key=cost)[:most]


def _places(claim: Claim) -> Iterator[tuple[tuple[str, ...], ...]]:
    """Yield parts of a claim's places in which it must hold, too."""
    if claim.most or (claim.per and (claim.trend or claim.steady)):
        yield claim.groups
    elif len(claim.groups) > 1 and (claim.trend or claim.steady):
        yield from pairwise(claim.groups) if claim.trend else combinations(claim.groups, 2)
    elif claim.average or claim.trend or claim.steady:
        yield from ((group,) for group in claim.groups)
    else:
        yield from (((name,),) for name in claim.scenarios)


def _among(claim: Claim) -> Iterator[Claim]:
    """Yield checks of a scheme, or two that must be alike, with one opponent at most.

    A share may be one of none, which decides about all schemes together, and a rank counts all opponents.
    """
    if claim.per:
        yield claim
        return
    for about in [(name,) for name in claim.schemes] + ([*combinations(claim.schemes, 2)] if claim.alike else []):
        if claim.rank > 1:
            yield replace(claim, schemes=about)
            continue
        yield replace(claim, schemes=about, below=(), above=())
        yield from (replace(claim, schemes=about, below=(name,), above=()) for name in claim.below)
        yield from (replace(claim, schemes=about, below=(), above=(name,)) for name in claim.above)
