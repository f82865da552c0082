"""The sentence of a finding: the measure under the target and its best peer, and the scenario in words."""

import json
import shlex
from collections.abc import Mapping
from typing import Any

from aqmlab import catalogue
from aqmlab.runs.grid import number
from aqmlab.runs.task import LINUX
from aqmlab.worst.document import Document, groups
from aqmlab.worst.plan import Contender, WorstPlan, searched
from aqmlab.worst.score import Regret

NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
KEYS = {
    "loss": "the link loses {} of the packets",
    "reorder": "{} of the packets may leave the order",
    "jitter": "the delay of the link varies",
    "aggregation": "the link sends in bursts",
    "policer": "a policer drops above a rate",
    "ecn_mangling": "the path changes the ECN field",
}


def sentence(plan: WorstPlan, document: Document, regret: Regret) -> str:
    """Return a finding in one sentence."""
    ours, theirs = (shown(regret, value) for value in (regret.target, regret.peers[regret.best]))
    best = next(each for each in plan.peers if each.name == regret.best)
    phrase = regret.criterion.phrase
    target, peer = title(plan.target), title(best)
    if peer == target:
        peer = f"{peer} ({best.spec if best.spec != plan.target.spec else best.name})"
    compared = f"{phrase[0].upper()}{phrase[1:]} is {ours} under {target} and {theirs} under {peer}"
    return f"{compared} when {setting(plan, document)}."


def shown(regret: Regret, value: float) -> str:
    """Return a value of a regret with its unit."""
    metric = regret.criterion.metric
    if metric is None:
        return f"{100 * value:.0f} %"
    text = metric.show(value)
    return f"{text} {metric.unit_shown}".strip()


def title(contender: Contender) -> str:
    """Return the title of a scheme or a controller, and the engine if it is not the simulator."""
    name, _, rest = contender.spec.partition(":")
    if contender.kind == "scheme":
        found = catalogue.title(contender.spec)
    else:
        law = next((law.title for law in catalogue.laws() if law.name == name), name)
        found = f"{law} ({rest})" if rest else law
    return f"{found} on Linux" if contender.engine == LINUX else found


def setting(plan: WorstPlan, document: Document) -> str:
    """Return the scenario in words: the flows, the link, and what happens to it."""
    link = next(each for each in document["links"] if each is not None)
    own = searched(document) if plan.target.kind == "controller" else []
    flows = [_flows(each, is_own=each.get("name") in own) for each in groups(document)]
    is_one = len(flows) == 1 and (groups(document)[0].get("count") or 1) == 1
    verb = "uses" if is_one else "share"
    there = f"{_joined(flows)} {verb} {_rate(link.get('rate'))}"
    details = [there, *(KEYS[key].format(link[key]) for key in KEYS if link.get(key) is not None)]
    changes = sorted((each for each in document.get("changes") or [] if each is not None), key=_time)
    details += [
        f"the {str(each['path']).rpartition('.')[2]} becomes {each['value']} at {each['at']}" for each in changes
    ]
    return _joined(details)


def _time(change: Mapping[str, Any]) -> float:
    found = number(change.get("at"))
    return found[0] if found else 0.0


def _flows(group: Mapping[str, Any], *, is_own: bool) -> str:
    count, kind = group.get("count") or 1, group.get("kind") or "ftp"
    amount = (NUMBERS[count] if count < len(NUMBERS) else str(count)) if isinstance(count, int) else str(count)
    many = "s" if count != 1 else ""
    rtt = f" with {group['rtt']} of round-trip time" if isinstance(group.get("rtt"), str) and kind == "ftp" else ""
    if kind == "ftp":
        law = "" if is_own else f"{_controller(group.get('tcp'))} "
        return f"{amount} {law}flow{many}{rtt}"
    if kind in ("udp-cbr", "udp-onoff"):
        rate = group.get("rate") or group.get("rate_on")
        return f"{amount} UDP stream{many} of {rate}" + (" with ECN" if group.get("ecn") else "")
    if kind == "short":
        return f"short transfers ({group.get('arrivals')})"
    if kind == "app-limited":
        return f"{amount} application-limited flow{many} of {group.get('rate')}"
    return f"{amount} {kind} source{many}"


def _controller(tcp: Any) -> str:
    name = tcp.get("congestion_control") if isinstance(tcp, dict) else tcp
    known = {law.name: law.title for law in catalogue.laws()}
    return known.get(str(name).partition(":")[0], "CUBIC") if isinstance(name, str) else "CUBIC"


def _rate(rate: Any) -> str:
    return rate if isinstance(rate, str) else "a link of varying rate"


def _joined(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def likely(share: float) -> str:
    """Return a probability as people read it."""
    if share >= 0.1:
        return f"{100 * share:.0f} % of its scenarios"
    return (
        f"about one in {float(f'{1 / share:.1g}'):,.0f} scenarios"
        if share > 1e-9
        else "less than one in 10^9 scenarios"
    )


def commands(plan: WorstPlan, document: Document, regret: Regret, file: str) -> list[str]:
    """Return the commands that show a finding, its scenario being in a file."""
    best = next(each for each in plan.peers if each.name == regret.best)
    name = shlex.quote(file)
    if best.engine == LINUX:
        given = f"--aqms {shlex.quote(plan.target.spec)} " if plan.target.kind == "scheme" else ""
        return [f"aqmlab compare {name} {given}--engines sim,linux"]
    if plan.target.kind == "scheme":
        given = ",".join(dict.fromkeys((plan.target.name, best.spec)))
        return [f"aqmlab compare {name} --aqms {shlex.quote(given)}"]
    return [
        " ".join(
            [
                f"aqmlab run {name}",
                *(f"--set {shlex.quote(f'{path}={spec}')}" for path, spec in each.overrides(document)),
            ]
        )
        for each in (plan.target, best)
    ]


def experiment(plan: WorstPlan, document: Document, regret: Regret, file: str) -> str:
    """Return an experiment that runs the target and its best peer in the scenario of a file."""
    best = next(each for each in plan.peers if each.name == regret.best)
    link = next(each for each in document["links"] if each is not None)
    is_scheme = plan.target.kind == "scheme"
    specs = list(dict.fromkeys(each.spec for each in (plan.target, best)))
    aqms = specs if is_scheme else [str(link.get("aqm", "droptail"))]
    lines = [
        f"title = {json.dumps(sentence(plan, document, regret), ensure_ascii=False)}",
        f"scenarios = [{json.dumps(file)}]",
    ]
    lines += [f"aqms = {json.dumps(aqms)}", "seeds = 10"]
    paths = [] if is_scheme else [path for path, _ in plan.target.overrides(document)]
    settings = [f"{json.dumps(path)} = {json.dumps(specs)}" for path in paths[:1]]
    return "\n".join(["schema = 1", *lines, *(["", "[set]", *settings] if settings else [])]) + "\n"
