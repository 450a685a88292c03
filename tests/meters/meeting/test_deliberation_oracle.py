"""Random meetings against a direct reading of the contract, written here on its own.

The oracle takes plain data and shares no code with the meter. It counts in fractions, with stated numbers read as the
decimals that they are, so that a comparison with a threshold is exact.
"""

import random
from collections import Counter
from collections.abc import Collection, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import pytest

from scoring.meters.meeting import score_meeting

CHECKLIST = """problem_clarity objectives options_alternatives key_assumptions risks_failure_modes constraints
stakeholders_impact dependencies_unknowns""".split()  # noqa: SIM905 - as in the contract
REQUIRED = ["problem_clarity", "objectives", "risks_failure_modes"]
FORCED = ["risks_failure_modes", "options_alternatives"]

TABLE = {
    "default": ".35 .35 .2 .1  3 10  .6 .75  .6 .75  .6  .25 .7  .05 .05",
    "tactical": ".3 .4 .2 .1  2 7  .5 .65  .65 .8  .7  .2 .65  .05 .03",
    "strategic": ".4 .3 .2 .1  3 10  .65 .8  .55 .7  .6  .3 .72  .04 .04",
}
"""The table of the contract: weights, rounds, exploration, convergence, focus, floor, mark, progress of C and E."""


BLOCKS = [
    *("weights.exploration", "weights.convergence", "weights.focus", "weights.low_novelty"),
    *("round_limits.min_rounds", "round_limits.max_rounds"),
    *("thresholds.exploration.min_to_allow_end", "thresholds.exploration.target_good"),
    *("thresholds.convergence.min_to_allow_end", "thresholds.convergence.target_good"),
    *("thresholds.focus.min_acceptable", "thresholds.novelty.novelty_floor_recent"),
    "thresholds.composite.min_index_to_recommend_end",
    "thresholds.progress.min_delta_convergence_over_2_rounds",
    "thresholds.progress.min_delta_exploration_over_2_rounds",
]
"""Where a config says the numbers of the table."""

RULES = COVERAGE, EARLY, STALLED, LATE = (
    *("require_exploration_coverage", "early_consensus_requires_extra_check"),
    *("stalled_debate_detection", "late_rounds"),
)


def exact(number: float) -> Fraction:
    return Fraction(str(number))


def read_scores(meeting: list[dict[str, Any]], at: int, weights: list[Fraction]) -> dict[str, Any]:
    record = meeting[at]
    listed = {a["name"]: a["coverage_level"] for a in record["exploration"]["aspects"]}
    every = CHECKLIST + [name for name in listed if name not in CHECKLIST]
    count = {"none": Fraction(0), "shallow": Fraction(1, 2), "deep": Fraction(1)}
    e = sum((count[listed.get(name, "none")] for name in every), Fraction(0)) / len(every)
    votes = record["convergence"]["expert_positions"]
    c = Fraction(0)
    if votes:
        options = list(dict.fromkeys(v["preferred_option"] for v in votes))
        sure = {o: [exact(v["confidence"]) for v in votes if v["preferred_option"] == o] for o in options}
        best = max(options, key=lambda o: (len(sure[o]), sum(sure[o]) / len(sure[o]), -options.index(o)))
        c = Fraction(len(sure[best]), len(votes)) * sum(sure[best]) / len(sure[best])
    f = record["focus"]
    spoken = f["core_count"] + f["context_count"] + f["off_topic_count"]
    focus = (f["core_count"] + Fraction(f["context_count"], 2)) / spoken if spoken else Fraction(1)
    before = [r for r in meeting if r["round_index"] == record["round_index"] - 1]
    points: Counter[str] = Counter()
    for r in [record, *before]:
        points.update({k: r["novelty"][f"{k}_points_count"] for k in ("novel", "repeated")})
    total = points["novel"] + points["repeated"]
    recent = Fraction(points["novel"], total) if total else Fraction(0)
    if not before and at == 0 and "novelty_score_recent" in record["novelty"]:
        recent = exact(record["novelty"]["novelty_score_recent"])
    m = weights[0] * e + weights[1] * c + weights[2] * focus + weights[3] * (1 - recent)
    return {"E": e, "C": c, "F": focus, "R": recent, "M": m, "levels": {n: listed.get(n, "none") for n in every}}


def read_statuses(
    meeting: list[dict[str, Any]], kind: str, own: Mapping[int, str] = MappingProxyType({}), off: Collection[str] = ()
) -> list[dict[str, Any]]:
    """Read the contract's rules from the top down for every round of a sorted meeting.

    ``own`` replaces numbers of the table by their place there, and ``off`` names rules that are switched off.
    """
    texts = [own.get(place, text) for place, text in enumerate(TABLE[kind].split())]
    numbers = [Fraction("0" + n if n.startswith(".") else n) for n in texts]
    required = [] if COVERAGE in off else REQUIRED
    weights, (least, most) = numbers[:4], numbers[4:6]
    e_min, e_good, c_min, c_good, f_min, floor, mark, c_progress, e_progress = numbers[6:]
    verdicts: dict[int, dict[str, Any]] = {}
    scores: dict[int, dict[str, Any]] = {}
    records = {r["round_index"]: r for r in meeting}
    for at, record in enumerate(meeting):
        n = record["round_index"]
        s = scores[n] = read_scores(meeting, at, weights)
        deep = sum(level == "deep" for level in s["levels"].values())
        covered = all(s["levels"][name] == "deep" for name in required)
        covered = COVERAGE in off or (covered and Fraction(deep, len(s["levels"])) >= Fraction(6, 10))
        may_end = n >= least and s["E"] >= e_min and s["C"] >= c_min and s["F"] >= f_min and covered
        end = "ready_to_decide" if may_end else "park_or_abort"
        earlier = scores.get(n - 2)
        strength, forced = None, []
        untouched = any(s["levels"][name] == "none" for name in required)
        both = s["E"] >= e_good and s["C"] >= c_good
        stalled = (
            STALLED not in off
            and earlier is not None
            and n >= 5
            and s["R"] <= Fraction(3, 10)
            and s["C"] - earlier["C"] < Fraction(5, 100)
        )
        late = (
            LATE not in off
            and earlier is not None
            and n >= 8
            and not (s["E"] - earlier["E"] >= 2 * e_progress or s["C"] - earlier["C"] >= 2 * c_progress)
        )
        if n >= most:
            status = end
        elif EARLY not in off and n <= 5 and s["C"] >= Fraction(7, 10) and (s["E"] < Fraction(55, 100) or untouched):
            status, forced = "continue_targeted", FORCED
        elif n < least or s["E"] < e_min or not covered:
            status = "must_continue"
        elif may_end and s["R"] <= floor and (s["M"] >= mark or both):
            was_ready = n - 1 in verdicts and verdicts[n - 1]["status"] == "ready_to_decide"
            if was_ready and records[n - 1].get("user_confirmed") is False:
                status, forced = "continue_targeted", ["any remaining doubts or risks?"]
            else:
                status, strength = "ready_to_decide", "strong" if both else "normal"
        elif stalled or late:
            status = end
        else:
            status = "continue_targeted"
        missing = [name for name in required if s["levels"][name] != "deep"]
        missing += [name for name, level in s["levels"].items() if level == "none" and name not in required]
        prompts = [*missing, *forced] if forced is FORCED else [*forced, *missing]
        if status == "ready_to_decide" and record.get("user_confirmed") is False and n < most:
            prompts.insert(0, "any remaining doubts or risks?")
        if s["F"] < f_min:
            prompts.append("refocus")
        own = record.get("stop_continue_recommendation", {}).get("next_round_focus_prompts", [])
        verdicts[n] = {
            "status": status,
            "strength": strength,
            "may_end": may_end,
            "missing": missing,
            "prompts": list(dict.fromkeys([*prompts, *own])),
            "scores": tuple(s[key] for key in "ECFRM"),
        }
    return list(verdicts.values())


def random_meeting(seed: int) -> list[dict[str, Any]]:
    """Make a meeting that wanders about the thresholds; rounds and optional parts may be missing."""
    r = random.Random(seed)
    warm = r.random()
    records: list[dict[str, Any]] = []
    for number in range(1, r.randint(1, 12) + 1):
        if r.random() < 0.1:
            continue
        grown = min(1.0, warm + number / 12)
        names = [name for name in CHECKLIST if r.random() < 0.97] + r.choice([[], [], ["legal"], ["legal", "tax"]])
        levels = ["deep" if r.random() < grown else r.choice(["shallow", "shallow", "none"]) for _ in names]
        sides = "A" if r.random() < grown else "ABC"
        experts = r.choice([0, 3, 4, 5, 5])
        record: dict[str, Any] = {
            "round_index": number,
            "exploration": {
                "aspects": [{"name": n, "coverage_level": lv} for n, lv in zip(names, levels, strict=True)]
            },
            "convergence": {
                "expert_positions": [
                    {"expert_id": f"e{n}", "preferred_option": r.choice(sides), "confidence": r.randint(11, 20) / 20}
                    for n in range(experts)
                ]
            },
            "focus": {
                "core_count": r.randint(0, 16),
                "context_count": r.randint(0, 6),
                "off_topic_count": r.randint(0, 4),
            },
            "novelty": {
                "novel_points_count": r.randint(0, max(1, 12 - number)),
                "repeated_points_count": r.randint(0, 4 + 2 * number),
            },
        }
        if r.random() < 0.3:
            record["novelty"]["novelty_score_recent"] = r.randint(0, 20) / 20
        if r.random() < 0.5:
            record["user_confirmed"] = r.random() < 0.3
        if r.random() < 0.3:
            record["stop_continue_recommendation"] = {
                "status": "must_continue",
                "rationale": [],
                "next_round_focus_prompts": r.sample(["objectives", "Look at B.", "legal"], 2),
            }
        records.append(record)
    return records or random_meeting(seed + 1_000_000)


MEETINGS = range(200)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("seed", MEETINGS)
def test_a_random_meeting_is_read_as_the_contract_says(seed: int) -> None:
    meeting = random_meeting(seed)
    for kind in TABLE:
        agrees(meeting, random.Random(seed).sample(meeting, len(meeting)), kind)


@pytest.mark.slow
@pytest.mark.sampled(2)
@pytest.mark.parametrize("seeds", [range(100), range(100, 200)], ids=str)
def test_a_random_meeting_is_read_so_under_a_config_of_ones_own(seeds: range) -> None:
    for seed in seeds:
        r = random.Random(seed)
        kind = r.choice(list(TABLE))
        own = {place: f"0.{r.randint(1, 9)}5" for place in r.sample(range(6, 13), 3)}
        own |= {place: r.choice(["0", "0.02", "0.1"]) for place in (13, 14)}
        own |= {4: str(r.randint(1, 4)), 5: str(r.randint(4, 12))}
        own |= dict(enumerate(r.choice([["0.25"] * 4, ["0", "1", "0", "0"], ["0.4", "0.3", "0.2", "0.1"]])))
        off = [name for name in RULES if r.random() < 0.3]
        meeting = random_meeting(seed)
        agrees(meeting, meeting[::-1], kind, own, off)


def config_of(kind: str, own: Mapping[int, str], off: Collection[str]) -> dict[str, Any]:
    """Return a partial config that says these numbers and switches these rules off."""
    config: dict[str, Any] = {"meeting_type": kind, "rules": {name: {"enabled": False} for name in off}}
    for place, text in own.items():
        *blocks, key = BLOCKS[place].split(".")
        block = config
        for name in blocks:
            block = block.setdefault(name, {})
        block[key] = float(text) if place not in (4, 5) else int(text)
    return config


def agrees(
    meeting: list[dict[str, Any]],
    shuffled: list[dict[str, Any]],
    kind: str,
    own: Mapping[int, str] = MappingProxyType({}),
    off: Collection[str] = (),
) -> None:
    """Compare the meter with the oracle, round by round."""
    found = score_meeting(shuffled, config_of(kind, own, off) if own or off else kind)
    wanted = read_statuses(meeting, kind, own, off)
    assert [(v.status, v.strength, v.ending_allowed) for v in found] == [
        (w["status"], w["strength"], w["may_end"]) for w in wanted
    ]
    for verdict, want in zip(found, wanted, strict=True):
        s = verdict.scores
        computed = (s.exploration, s.convergence, s.focus, s.novelty_recent, s.completeness)
        assert computed == pytest.approx(tuple(map(float, want["scores"])), abs=1e-12)
        assert list(verdict.missing_aspects) == want["missing"]
        prompts = ["refocus" if p == "come back to the decision" else p for p in verdict.next_round_focus_prompts]
        assert prompts == want["prompts"]


@pytest.mark.slow
def test_the_random_meetings_meet_every_rule_often() -> None:
    rules: Counter[str] = Counter()
    statuses: Counter[tuple[str, str | None]] = Counter()
    for seed in MEETINGS:
        kind = list(TABLE)[seed % 3]
        for verdict in score_meeting(random_meeting(seed), kind):
            rules[verdict.rule] += 1
            statuses[verdict.status, verdict.strength] += 1
    assert {rule for rule, count in rules.items() if count >= 3} == {
        "round_limit",
        "early_consensus",
        "must_go_on",
        "doubted",
        "ready",
        "stalled",
        "late_round",
        "go_on",
    }
    assert len(statuses) == 6
