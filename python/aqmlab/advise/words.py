"""An advice in words."""

from aqmlab.advise.advice import NOTABLE, PACED, PICTURE, Advice, Score, Seen
from aqmlab.advise.needs import NEEDS
from aqmlab.advise.scenarios import AT_REST
from aqmlab.advise.ties import ALIKE, WHY, WORTH
from aqmlab.catalogue import title
from aqmlab.runs.metrics import find

APPS = {"qoo_web": "browsing", "qoo_conferencing": "conferences", "qoo_gaming": "games", "qoo_backup": "backups"}
"""What each score of Quality of Outcome, 0 to 100, is of."""


def sentences(advice: Advice) -> list[str]:
    """Return what was found: the first, what it gains and costs, how sure that is, and where it turns."""
    told = [_first(advice), *_against_baseline(advice), *_felt(advice), *_picture(advice)]
    told += [*_turns(advice), *_unused(advice), *_part(advice)]
    return [*told, *_untold(advice), *_doubts(advice)]


def _first(advice: Advice) -> str:
    seeds = len(advice.seeds)
    conditions = len(advice.conditions)
    where = f"over {conditions} condition{'s' if conditions > 1 else ''} and {seeds} seeds"
    if advice.advised == advice.first:
        what = f"{title(advice.first)} comes first {where}."
    elif advice.advised not in advice.ties:
        return _instead_of_untested(advice, where)
    else:
        what = (
            f"{title(advice.advised)} is as good as any {where} ({percent(advice.score(advice.advised))} of "
            f"{title(advice.first)}), and of these the one {WHY}."
        )
    equals = [each for each in (advice.first, *advice.ties) if each != advice.advised]
    scores = [f"{title(each)} ({percent(advice.score(each))})" for each in equals]
    equal = f" Equal, by less than {100 - 100 * ALIKE:.0f} % or within the interval: {', '.join(scores)}."
    others = [each for each in advice.schemes[1:] if each not in advice.ties]
    behind = f" {title(others[0])} is next ({percent(advice.score(others[0]))})." if others else ""
    return what + (equal if equals else "") + behind


def _instead_of_untested(advice: Advice, where: str) -> str:
    """Say why a tested scheme is advised though another one is surely better."""
    better = 100 * advice.score(advice.first, advice.advised).ratio - 100
    return (
        f"{title(advice.advised)} is advised {where}. {title(advice.first)} has the best score, but it is untested: no "
        f"kernel has been given its commands here, and it is {better:.1f} % better, which is less than the "
        f"{100 * WORTH - 100:.0f} % for which an untested scheme is advised."
    )


def _against_baseline(advice: Advice) -> list[str]:
    baseline, scheme = title(advice.baseline), advice.advised
    if scheme == advice.baseline:
        return []
    told = {"Gains": advice.gains(scheme), "Costs": advice.costs(scheme)}
    return [
        f"{word} over {baseline}: {'; '.join(instead(advice, scheme, each) for each in seen)}."
        if seen
        else f"{word} over {baseline}: none above {100 * NOTABLE - 100:.0f} % that these seeds can show."
        for word, seen in told.items()
    ]


def instead(advice: Advice, scheme: str, seen: Seen) -> str:
    """Say what a measure is under a scheme, and what it was under the baseline."""
    metric = seen.sign.metric
    values = [advice.summary(each, seen) for each in (scheme, advice.baseline)]
    ours, theirs = (metric.show(value.mean if value else None) for value in values)
    told = f"{metric.title} of {seen.sign.place} {ours} instead of {theirs} {metric.unit_shown}".rstrip()
    return f"{told} ({advice.names[seen.condition]})"


def _turns(advice: Advice) -> list[str]:
    turns = [
        f"{where}, {title(scheme)} is better by {100 * score.ratio - 100:.0f} %"
        for where, scheme, score in advice.turns()
    ]
    return [f"Where it turns: {'; '.join(turns)}."] if turns else []


def _felt(advice: Advice) -> list[str]:
    """Say what calls, games and pings feel under the scheme and under the baseline."""
    schemes = list(dict.fromkeys([advice.advised, advice.baseline]))
    felt = {title(scheme): advice.felt(scheme) for scheme in schemes}
    if "latency" not in advice.needs or not all(felt.values()):
        return []
    rounds = ", ".join(f"{values['rpm']:,.0f} under {name}" for name, values in felt.items())
    scores = [
        f"{app} {' and '.join(f'{values[measure]:.0f}' for values in felt.values())}" for measure, app in APPS.items()
    ]
    return [
        f"Calls, games and pings make so many round trips a minute: {rounds}. Quality of Outcome: {', '.join(scores)}."
    ]


def _picture(advice: Advice) -> list[str]:
    """Say what is seen of calls under the scheme and under the baseline."""
    seen = {scheme: advice.picture(scheme) for scheme in dict.fromkeys([advice.advised, advice.baseline])}
    is_asked = "latency" in advice.needs or "transfers" in advice.needs
    if not is_asked or any(len(values) < len(PICTURE) for values in seen.values()):
        return []
    metrics = [find(f"total.{measure}") for measure in PICTURE]
    told = []
    for scheme, values in seen.items():
        delay, frozen, rate = (f"{each.show(values[each.name])} {each.unit_shown}" for each in metrics)
        told.append(f"{delay} under {title(scheme)}, {frozen} of the time frozen, at {rate}")
    return [f"95 % of the frames of video calls are complete within {'; '.join(told)}."]


def _unused(advice: Advice) -> list[str]:
    """Say what each scheme leaves unused of a link whose rate varies, and long transfers could fill."""
    told = []
    for link, schemes in advice.unused().items():
        shares = ", ".join(f"{title(scheme)} {100 * share:.0f} %" for scheme, share in schemes.items())
        told.append(f"Capacity of {link} that is left unused, as its rate varies: {shares}.")
    return told


def _part(advice: Advice) -> list[str]:
    """Say so where only a part of the line was simulated."""
    if advice.parts == 1:
        return []
    part = advice.conditions[0]
    measured = min((each.duration - each.warmup) / (each.group("ping").rtt or 1.0) for each in advice.conditions)
    return [
        f"Measured at 1/{advice.parts} of the line: {part.link('link').rate / 1e6:.4g} Mbit/s and "
        f"{part.group('bulk').count} long transfers at the same share each, with as small a part of the queues and of "
        f"the buffer, for {measured:.0f} round trips at least. With so many transfers shares and delays hardly depend "
        "on it. CoDel's do, as its drops come at a pace that does not grow with the rate: "
        + ("it would do worse on the whole line." if PACED in advice.schemes else "it is left out.")
    ]


def _untold(advice: Advice) -> list[str]:
    """Say so where nothing in the conditions tells of something that matters."""
    needs = [need for need in advice.needs if need not in advice.told]
    if not needs:
        return []
    looked = "; ".join(NEEDS[need] for need in needs)
    return [f"Nothing here tells of {' and '.join(needs)} ({looked}): the scenarios have no such flows."]


def _doubts(advice: Advice) -> list[str]:
    found = [f"Not ranked, as runs failed: {failure}." for failure in advice.failures]
    for name, scenario in zip(advice.names, advice.conditions, strict=True):
        rtts = [scenario.group(each).rtt for each in scenario.flows]
        longest = max((rtt for rtt in rtts if rtt), default=0.0)
        measured = scenario.duration - scenario.warmup
        if measured < AT_REST * longest:
            found.append(
                f"{name} measures {measured:.3g} s, {measured / longest:.0f} round trips: "
                "its long transfers do not yet share the link as they will."
            )
    return found[:3]


def percent(score: Score) -> str:
    """Return a score as people read it: 98.6 %, 98.3 to 99.0."""
    low, high = score.interval or (score.ratio, score.ratio)
    return f"{100 * score.ratio:.1f} %, {100 * low:.1f} to {100 * high:.1f}"
