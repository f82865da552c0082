"""Lists of schemes as users write them."""

import pytest

import aqmlab
from aqmlab import catalogue


@pytest.mark.parametrize(
    ("text", "specs"),
    [
        ("pi", ["pi"]),
        ("pi,rem", ["pi", "rem"]),
        (" pi , rem ", ["pi", "rem"]),
        ("pi:a=1e-5,b=9e-6", ["pi:a=1e-5,b=9e-6"]),
        ("pi:a=1e-5,b=9e-6,rem", ["pi:a=1e-5,b=9e-6", "rem"]),
        ("ared,pi:a=1,b=2,rem:gamma=3,an-aqm", ["ared", "pi:a=1,b=2", "rem:gamma=3", "an-aqm"]),
        ("pi:a=1,pi:a=2", ["pi:a=1", "pi:a=2"]),
    ],
)
def test_split(text: str, specs: list[str]) -> None:
    assert catalogue.split(text) == specs


def test_select() -> None:
    every = catalogue.select("all")
    assert every == tuple(scheme.name for scheme in aqmlab.schemes())
    papers = catalogue.select("seed-papers")
    assert set(papers) < set(every)
    assert all(catalogue.find(name).papers for name in papers)
    assert catalogue.select(["pi", "rem"]) == ("pi", "rem")


def test_every_scheme_is_described() -> None:
    for scheme in aqmlab.schemes():
        assert scheme.summary
        assert scheme.page
        assert scheme.source
        for parameter in scheme.parameters:
            assert parameter.doc
            assert parameter.source


def test_titles_carry_parameters() -> None:
    pi = catalogue.find("pi").title
    assert catalogue.title("pi") == pi
    assert catalogue.title("pi:a=1e-5,b=9e-6") == f"{pi} (a=1e-5,b=9e-6)"
