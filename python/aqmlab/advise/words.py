"""The recommendation in words."""

from aqmlab.advise.advice import NOTABLE, PACED, PICTURE, Advice, Score, Seen
from aqmlab.advise.needs import NEEDS
from aqmlab.advise.scenarios import AT_REST
from aqmlab.advise.ties import ALIKE, WHY, WORTH
from aqmlab.catalogue import title
from aqmlab.runs.metrics import find

APPS = {"qoo_web": "browsing", "qoo_conferencing": "conferences", "qoo_gaming": "games", "qoo_backup": "backups"}
"""The application of each Quality of Outcome score, 0 to 100."""


def sentences(advice: Advice) -> list[str]:
    """Return the findings: the recommended scheme, its gains and costs, their certainty, and exceptions."""
    sentences = [_first(advice), *_against_baseline(advice), *_felt(advice), *_picture(advice)]
    sentences += [*_turns(advice), *_unused(advice), *_part(advice)]
    return [*sentences, *_unmeasured(advice), *_doubts(advice)]


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
            f"{title(advice.advised)} is recommended {where}. It is statistically tied with the best, "
            f"{title(advice.first)} ({title(advice.advised)}'s score: {percent(advice.score(advice.advised))}). "
            f"Ties are decided by {WHY}."
        )
    equals = [each for each in advice.ties if each not in (advice.first, advice.advised)]
    also = "Statistically" if advice.advised == advice.first else "Also"
    scores = [f"{title(each)} ({percent(advice.score(each))})" for each in equals]
    equal = (
        f" {also} tied (difference below {100 - 100 * ALIKE:.0f} % or not significant): {', '.join(scores)}."
        if equals
        else ""
    )
    others = [each for each in advice.schemes[1:] if each not in advice.ties]
    following = f" {title(others[0])} is next ({percent(advice.score(others[0]))})." if others else ""
    return what + equal + following


def _instead_of_untested(advice: Advice, where: str) -> str:
    """Explain why a tested scheme is recommended although another one is significantly better."""
    better = 100 * advice.score(advice.first, advice.advised).ratio - 100
    return (
        f"{title(advice.advised)} is recommended {where}. {title(advice.first)} has the best score, but its "
        f"commands have not been tested on a kernel. It is {better:.1f} % better; an untested scheme must be better by "
        f"{100 * WORTH - 100:.0f} %."
    )


def _against_baseline(advice: Advice) -> list[str]:
    baseline, scheme = title(advice.baseline), advice.advised
    if scheme == advice.baseline:
        return []
    sides = {"Gains": advice.gains(scheme), "Costs": advice.costs(scheme)}
    return [
        f"{word} over {baseline}: {'; '.join(instead(advice, scheme, each) for each in seen)}."
        if seen
        else f"{word} over {baseline}: none that is significant and above {100 * NOTABLE - 100:.0f} %."
        for word, seen in sides.items()
    ]


def instead(advice: Advice, scheme: str, seen: Seen) -> str:
    """Return a measure under a scheme, and under the baseline."""
    metric = seen.sign.metric
    values = [advice.summary(each, seen) for each in (scheme, advice.baseline)]
    ours, theirs = (metric.show(value.mean if value else None) for value in values)
    compared = f"{metric.title} of {seen.sign.place} {ours} instead of {theirs} {metric.unit_shown}".rstrip()
    return f"{compared} ({advice.names[seen.condition]})"


def _turns(advice: Advice) -> list[str]:
    turns = [
        f"{where}, {title(scheme)} is better by {100 * score.ratio - 100:.0f} %"
        for where, scheme, score in advice.turns()
    ]
    return [f"Exceptions: {'; '.join(turns)}."] if turns else []


def _felt(advice: Advice) -> list[str]:
    """Return the responsiveness and the Quality of Outcome under the scheme and under the baseline."""
    schemes = list(dict.fromkeys([advice.advised, advice.baseline]))
    felt = {title(scheme): advice.felt(scheme) for scheme in schemes}
    if "latency" not in advice.needs or not all(felt.values()):
        return []
    rounds = ", ".join(f"{values['rpm']:,.0f} RPM with {name}" for name, values in felt.items())
    scores = [
        f"{app} {' and '.join(f'{values[measure]:.0f}' for values in felt.values())}" for measure, app in APPS.items()
    ]
    return [f"Responsiveness (calls, games, pings): {rounds}. Quality of Outcome: {', '.join(scores)}."]


def _picture(advice: Advice) -> list[str]:
    """Return the quality of video calls under the scheme and under the baseline."""
    seen = {scheme: advice.picture(scheme) for scheme in dict.fromkeys([advice.advised, advice.baseline])}
    is_asked = "latency" in advice.needs or "transfers" in advice.needs
    if not is_asked or any(len(values) < len(PICTURE) for values in seen.values()):
        return []
    metrics = [find(f"total.{measure}") for measure in PICTURE]
    sentences = []
    for scheme, values in seen.items():
        delay, frozen, rate = (f"{each.show(values[each.name])} {each.unit_shown}" for each in metrics)
        sentences.append(f"{delay} with {title(scheme)} ({frozen} of the time frozen, {rate})")
    return [f"Video calls, frame delay (p95): {'; '.join(sentences)}."]


def _unused(advice: Advice) -> list[str]:
    """Return the unused capacity under each scheme, for variable-rate links that long transfers could fill."""
    sentences = []
    for link, schemes in advice.unused().items():
        shares = ", ".join(f"{title(scheme)} {100 * share:.0f} %" for scheme, share in schemes.items())
        sentences.append(f"Unused capacity of the variable-rate link {link}: {shares}.")
    return sentences


def _part(advice: Advice) -> list[str]:
    """Report that only a part of the link was simulated."""
    if advice.parts == 1:
        return []
    part = advice.conditions[0]
    measured = min((each.duration - each.warmup) / (each.group("ping").rtt or 1.0) for each in advice.conditions)
    return [
        f"Simulated at 1/{advice.parts} of the link: {part.link('link').rate / 1e6:.4g} Mbit/s and "
        f"{part.group('bulk').count} long transfers with the same share each, for at least {measured:.0f} round trips. "
        "Queues and buffers are scaled alike. With this many transfers, shares and delays hardly depend on the scale. "
        "CoDel is an exception, because its drop rate does not scale with the link rate: "
        + ("it would perform worse on the whole link." if PACED in advice.schemes else "it is left out.")
    ]


def _unmeasured(advice: Advice) -> list[str]:
    """Report the needs that no condition measures."""
    needs = [need for need in advice.needs if need not in advice.measured_needs]
    if not needs:
        return []
    looked = "; ".join(NEEDS[need] for need in needs)
    return [f"Not measured: {' and '.join(needs)} ({looked}). The scenarios have no such flows."]


def _doubts(advice: Advice) -> list[str]:
    found = [f"Not ranked, because runs failed: {failure}." for failure in advice.failures]
    for name, scenario in zip(advice.names, advice.conditions, strict=True):
        rtts = [scenario.group(each).rtt for each in scenario.flows]
        longest = max((rtt for rtt in rtts if rtt), default=0.0)
        measured = scenario.duration - scenario.warmup
        if measured < AT_REST * longest:
            found.append(
                f"{name} measures {measured:.3g} s, or {measured / longest:.0f} round trips: "
                "its long transfers may not have converged to their shares."
            )
    return found[:3]


def percent(score: Score) -> str:
    """Return a score with its interval: 98.6 %, 95 % CI 98.3-99.0."""
    low, high = score.interval or (score.ratio, score.ratio)
    return f"{100 * score.ratio:.1f} %, 95 % CI {100 * low:.1f}-{100 * high:.1f}"
