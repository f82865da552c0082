"""Lists of schemes as users write them, and what the catalogue says of each."""

import pytest

import aqmlab
from aqmlab import catalogue
from aqmlab.scenario import scenarios
from aqmlab.study.paper import studies


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
    assert catalogue.select("deployed") == ("droptail", "codel", "pie", "fq-codel", "fq-pie", "cake", "dualpi2")
    assert catalogue.select(["pi", "rem"]) == ("pi", "rem")


def test_the_schemes_that_are_usual_in_a_scenario() -> None:
    for name in scenarios():
        of_paper = name.partition("/")[0] in studies()
        assert catalogue.usual(name) == catalogue.select("seed-papers" if of_paper else "deployed"), name
    assert catalogue.usual("li2014") == catalogue.select("deployed")  # a file of that name


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


def test_every_built_in_scheme_keeps_the_contract_or_says_why_not() -> None:
    for scheme in catalogue.schemes():
        found = aqmlab.check_aqm(scheme.name, strict=True)
        excepted = {clause.text: clause.excepted for clause in found if clause.excepted}
        assert excepted == {each.clause: each.why for each in scheme.exceptions}
    assert "not required: it marks" in str(aqmlab.check_aqm("l4s-step"))


def test_a_scheme_tells_what_linux_has_of_it_and_what_the_models_make_of_it() -> None:
    found = {scheme.name: scheme for scheme in catalogue.schemes()}
    kinds = {name: scheme.tc.kind for name, scheme in found.items() if scheme.tc}
    assert kinds.items() >= {
        "droptail": "pfifo", "red": "red", "ared": "red", "gred": "gred", "choke": "choke", "sfb": "sfb",
        "codel": "codel", "pie": "pie", "cake": "cake", "cake-mq": "cake_mq", "dualpi2": "dualpi2",
        "fq-codel": "fq_codel", "fq-pie": "fq_pie",
    }.items()  # fmt: skip
    assert (found["pi2"].signal, found["droptail"].signal, found["pi2"].has_law) == ("head", "never", True)
    assert dict(found["codel"].facts())["Fluid model"].startswith("not supported: the scheme decides at departures")
    assert dict(found["pie"].facts())["Linux"] == "pie (ecn_prob is an option of fq_pie alone)"
