"""Random transcripts against a direct reading of the contract, written here on its own.

The oracle takes the text of a transcript and shares no code with the meter: it reads line by line, compares all
pairs of claims, counts in fractions, and finds words by cutting text into words instead of by patterns.
"""

import json
import random
from collections import Counter
from fractions import Fraction
from typing import Any

import pytest

from scoring.meters.dr import score_transcript
from scoring.meters.dr.transcript import parse_transcript

pytestmark = pytest.mark.sampled(3)

TRANSCRIPTS = range(200)

VERBS = """run write create open deploy send test build merge ship implement add remove update fix configure
convert""".split()  # noqa: SIM905 - as in the contract
STARTS = ["consider", "think about", "explore", "look into", "investigate"]
VAGUE = ["maybe", "possibly", "might", "could potentially"]
BLOCKERS = [
    *("blocked", "blocker", "waiting on", "depends on", "need access", "need permission", "can't proceed"),
    *("prerequisite", "missing"),
]
OWNERS = ["i will", "we will", "owner", "owned by", "assign to", "assigned to"]
THINGS = ["pr", "pull request", "branch", "file", "command", "tool", "url"]
HINTS = {
    "SHIP": "Converged. Ship the decision and verify.",
    "CONTINUE": "Still producing useful novelty. Continue the loop.",
}
FIRST_LOW = "Little new; one more round to be sure."
KEYS = """score components novelty_by_round readiness_by_round stop_recommendation composite flags hint"""
COMPONENTS = """novelty_rate novelty_rate_L0 novelty_rate_L1 action_readiness action_readiness_detail
semantic_similarity structural_agreement"""


# The oracle


def in_words(text: str) -> str:
    """Return text in lower case as words with a space around each; an apostrophe is part of a word."""
    kept = [c if c.isalnum() or c in "_'" else " " for c in text.lower().replace("\u2019", "'")]
    return f" {' '.join(''.join(kept).split())} "


def has_whole(phrases: list[str], text: str) -> bool:
    return any(f" {phrase} " in in_words(text) for phrase in phrases)


def blocks(text: str) -> bool:
    return any(f" {phrase}" in in_words(text) for phrase in BLOCKERS)


def names_thing(action: str) -> bool:
    if action.count("`") >= 2 or has_whole(THINGS, action):
        return True
    for token in action.split():
        bare = token.strip(".,;:()!?")
        if "/" in bare and bare.lower() not in ("and/or", "either/or"):
            return True
        if bare[:1] == "#" and bare[1:].isdigit():
            return True
        stem, dot, extension = bare.rpartition(".")
        if dot and 1 <= len(extension) <= 5 and extension.isalnum() and len(stem) >= 2 and stem[-2:].isalnum():
            return True
    return False


def specific(action: str) -> bool:
    verb = has_whole(VERBS, action)
    vague = action.lower().strip().startswith(tuple(STARTS)) or has_whole(VAGUE, action)
    vague = vague or (len(action.split()) < 5 and not verb)
    return not vague and (verb or names_thing(action))


def owned(action: str) -> bool:
    first = action.split()[0]
    named = first.endswith(":") and first[:-1].isalpha() and first[0].isupper()
    return named or has_whole(OWNERS, action) or any(t[:1] == "@" and t[1:2].isalnum() for t in action.split())


def l0(claim: str) -> str:
    text = " ".join(claim.lower().split())
    while text[-1:] in (".", "!", "?") and text:
        text = text[:-1]
    return text.strip()


def same_words(one: str, other: str) -> bool:
    a, b = set(one.split()), set(other.split())
    return Fraction(len(a & b), len(a | b)) >= Fraction(6, 10)


def shown(value: Fraction) -> float:
    return round(float(value), 4)


def rounds_of(text: str) -> list[dict[str, Any]]:
    """Return the rounds of a transcript in order, blank items dropped."""
    if text.lstrip("{ \n").startswith('"rounds"'):
        found = json.loads(text)["rounds"]
    else:
        lines = [json.loads(line) for line in text.split("\n") if line.strip()]
        found = [line for line in lines if line["type"] == "round"]
    rounds = []
    for one in sorted(found, key=lambda r: int(r["round"])):
        outputs = one["outputs"]
        items = {key: [t for t in outputs.get(key) or [] if t.strip()] for key in ("open_questions", "next_actions")}
        claims = dict.fromkeys(filter(None, map(l0, outputs["claims"])))
        rounds.append({"round": one["round"], "claims": list(claims), **items})
    return rounds


def read(text: str, k: int) -> dict[str, Any]:
    """Return what the contract says of a transcript, words that it leaves open apart."""
    rounds = rounds_of(text)
    novelty: list[dict[str, Any]] = []
    readiness: list[dict[str, Any]] = []
    flags: list[tuple[str, int]] = []
    peaks = {"L0": 1, "L1": 1}
    run = 0
    ready_of_run: list[bool] = []
    for i, now in enumerate(rounds):
        earlier = [claim for r in rounds[:i] for claim in r["claims"]]
        new = {
            "L0": [claim not in earlier for claim in now["claims"]],
            "L1": [not any(same_words(claim, other) for other in earlier) for claim in now["claims"]],
        }
        count = {level: sum(answers) for level, answers in new.items()}
        peaks = {level: max(peaks[level], count[level]) for level in peaks}
        rates = {level: Fraction(count[level], peaks[level]) for level in peaks}
        rate = min(rates.values())
        raw = "HIGH" if rate > Fraction(1, 2) else "LOW" if rate < Fraction(15, 100) else "MEDIUM"
        run = run + 1 if raw == "LOW" else 0
        level = "MEDIUM" if raw == "LOW" and run < k else raw
        both = sum(a and b for a, b in zip(new["L0"], new["L1"], strict=True))
        total = len(now["claims"])
        by_level = {f"novelty_rate_{name}": shown(r) for name, r in rates.items()}
        novelty.append(
            {
                "round": now["round"],
                "claims": total,
                "new_claims": both,
                **{f"new_claims_{name}": n for name, n in count.items()},
                "novelty_rate": shown(rate),
                **by_level,
                "classification": level,
            }
        )
        value, parts, blocker = ready(now, rounds[i - 1] if i else None)
        klass = "HIGH" if value >= Fraction(7, 10) else "MEDIUM" if value >= Fraction(4, 10) else "LOW"
        readiness.append(
            {"round": now["round"], "action_readiness": shown(value), "readiness_classification": klass, **parts}
        )
        ready_of_run = [*ready_of_run[: run - 1], klass == "HIGH"] if run else []
        before = [len(r["claims"]) for r in rounds[:i]]
        mean_before = Fraction(sum(before), i) if i else None
        if total and (
            (Fraction(both, total) < Fraction(1, 10) and total >= Fraction(sum(before) + total, i + 1))
            or (mean_before is not None and total >= 2 * mean_before and raw == "LOW")
        ):
            flags.append(("claim_inflation", now["round"]))
        if i and rounds[i - 1]["open_questions"] and not now["open_questions"] and both:
            flags.append(("questions_dropped", now["round"]))
        if level == klass == "HIGH":
            flags.append(("premature_readiness", now["round"]))
        if not total:
            flags.append(("no_claims", now["round"]))
    if not any(r["claims"] for r in rounds) or level != "LOW":
        signal = "CONTINUE"
    elif blocker or klass == "LOW" or (run >= 3 and not any(ready_of_run)):
        signal = "ESCALATE"
    else:
        signal = "SHIP"
    last = novelty[-1]
    return {
        "score": shown(1 - rate),
        "components": {
            **{key: last[key] for key in ("novelty_rate", *by_level)},
            "action_readiness": shown(value),
            "action_readiness_detail": parts,
            "semantic_similarity": None,
            "structural_agreement": None,
        },
        "novelty_by_round": novelty,
        "readiness_by_round": readiness,
        "stop_recommendation": {
            "signal": signal,
            "novelty_classification": level,
            "readiness_classification": klass,
            "k_consecutive_low_novelty": run,
        },
        "composite": {
            "novelty_low": raw == "LOW",
            "stability_high": None,
            "not_blocked": not blocker,
            "rounds_held": None,
            "stop": None,
        },
        "flags": flags,
        "rule": {
            "blocker": blocker,
            "klass": klass,
            "parts": parts,
            "first low": 0 < run < k and any(r["claims"] for r in rounds),
        },
    }


def ready(now: dict[str, Any], before: dict[str, Any] | None) -> tuple[Fraction, dict[str, float], str | None]:
    actions, questions = now["next_actions"], now["open_questions"]
    count = sum(map(specific, actions))
    if not actions:
        acting = Fraction(0)
    elif not count:
        acting = Fraction(3, 10)
    else:
        acting = Fraction(1) if count >= 2 and any(map(owned, actions)) else Fraction(7, 10)
    if not questions:
        asking = Fraction(1)
    elif before is None:
        asking = Fraction(3, 10)
    else:
        difference = len(questions) - len(before["open_questions"])
        asking = Fraction(7, 10) if difference < 0 else Fraction(1, 10) if difference else Fraction(4, 10)
    blocker = next(filter(blocks, [*questions, *actions]), None)
    free = Fraction(0 if blocker else 1)
    value = acting / 2 + asking * Fraction(3, 10) + free / 5
    names = ("next_actions_score", "open_questions_score", "blocker_score")
    return value, dict(zip(names, map(float, (acting, asking, free)), strict=True)), blocker


# The transcripts

WORDS = "cache index lock queue retry proxy token shard merge batch log disk".split()  # noqa: SIM905
ACTIONS = [
    *("Consider a second cache for the readers", "think  about the shard layout once more", "Investigate", "End."),
    *("Maybe run the load test tonight", "We might ship it", "Mighty oaks grow from small acorns", "Rerun everything"),
    *("Run the load test against the proxy", "ship it", "Ada: add a retry to upload.py", "ada: fix the queue today"),
    *("I will update the index.", "Owner is unclear for all of this", "Ask @kim to send the numbers", "Mail a@b.org"),
    *("Look over docs/plan.md and say what you think", "Decide on speed and/or safety by Friday noon"),
    *(
        "Either/or is not what we want here",
        "Discuss `retry_limit` with the whole team",
        "Talk of #123 again here",
    ),
    *("Bring this branch to the others this week", "Use a lock, e.g. the one of last year", "Could potentially fix it"),
    *("We\u2019ll build it, owned by nobody", "Waiting  on legal", "It depends on the vendor", "Unblocked: deploy now"),
    *("Convert this into a 1-page facilitation checklist.", "Read notes.markdown and nothing else at all", "  ", ""),
    *("See https://example.org for the rest of it", "Mention the toolkit in the next weekly letter"),
]
QUESTIONS = [
    *("Who owns the lock?", "How long do users wait?", "Is the key missing?", "We can\u2019t proceed, can we?", " \t"),
    *("Which prerequisites are there?", "Are we unblocked?", "What was dismissing about it?", "Do we need permission?"),
]


def random_claim(r: random.Random, said: list[str]) -> str:
    if said and r.random() < 0.55:
        words = r.choice(said).split()
        if words and r.random() < 0.5:
            words[r.randrange(len(words))] = r.choice(WORDS)
        if r.random() < 0.3:
            r.shuffle(words)
    else:
        words = r.sample(WORDS, r.randint(1, 6))
    text = (" " if r.random() < 0.8 else "  ").join(words)
    return r.choice([text, text, text.upper(), f" {text}. ", f"{text} !?", text.title()])


def random_outputs(r: random.Random, said: list[str], warm: float) -> dict[str, Any]:
    if said and r.random() < warm:
        claims = r.choices(said, k=r.randint(1, 5))
    else:
        claims = [random_claim(r, said) for _ in range(r.choice([0, 1, 2, 3, 4, 8, 12]))]
    claims += r.choice([[], [], [" "], ["..."], ["\u2003"]])
    said += claims
    outputs: dict[str, Any] = {"claims": claims, "decisions": ["Keep it."], "citations": [{"url": "x"}]}
    for key, pool, most in (("next_actions", ACTIONS, 3), ("open_questions", QUESTIONS, 3)):
        if r.random() < 0.85:
            outputs[key] = r.sample(pool, r.randint(0, most)) if r.random() < 0.95 else None
    return outputs


def random_transcript(seed: int) -> str:
    """Make a transcript that begins to repeat itself; as JSON or as lines, in any order, with what is ignored."""
    r = random.Random(seed)
    said: list[str] = []
    numbers = r.sample(range(-2, 40), r.randint(1, 9))
    warm = r.choice([0.2, 0.5, 0.9])
    rounds = [{"round": n, "outputs": random_outputs(r, said, warm if i else 0)} for i, n in enumerate(sorted(numbers))]
    r.shuffle(rounds)
    if r.random() < 0.5:
        return json.dumps({"rounds": rounds, "topic": "any", "extra": 1}, indent=r.choice([None, 1]))
    lines = [json.dumps({"type": "round", **one}, ensure_ascii=r.random() < 0.5) for one in rounds]
    lines += ['{"type": "note", "rounds": "none"}', "", "  ", '{"type": "round_started", "round": 1}']
    r.shuffle(lines)
    head = [json.dumps({"type": "transcript_header", "version": 1, "topic": "any"})] if r.random() < 0.7 else []
    return r.choice(["\n", "\r\n"]).join([*head, *lines]) + r.choice(["", "\n"])


@pytest.mark.sampled(8)
@pytest.mark.parametrize("start", range(0, 200, 50))
@pytest.mark.parametrize("k", [1, 2])
def test_random_transcripts_are_read_as_the_contract_says(k: int, start: int) -> None:
    for seed in TRANSCRIPTS[start : start + 50]:
        agrees(random_transcript(seed), k, seed)


def agrees(text: str, k: int, seed: int) -> None:
    """Compare everything that the meter puts out with the oracle, key order included."""
    found = score_transcript(parse_transcript(text, "made.json"), k=k).payload()
    wanted = read(text, k)
    decided = wanted.pop("rule")
    assert list(found) == KEYS.split(), seed
    assert list(found["components"]) == COMPONENTS.split(), seed
    says = found["stop_recommendation"].pop("rationale")
    assert [(flag["flag"], flag["round"]) for flag in found["flags"]] == wanted.pop("flags"), seed
    assert all(list(flag) == ["flag", "round", "reason"] and flag["reason"] for flag in found["flags"]), seed
    hint = found.pop("hint")
    del found["flags"]
    assert json.dumps(found) == json.dumps(wanted), seed
    signal, novelty = (wanted["stop_recommendation"][key] for key in ("signal", "novelty_classification"))
    if signal == "ESCALATE":
        assert all(way in hint for way in ("human", "agent", "prompt", "narrow")), seed
        assert (decided["blocker"] or "") in says, seed
    else:
        blocked = f' It is blocked by "{decided["blocker"]}".' if decided["blocker"] else ""
        assert hint == (f"{FIRST_LOW}{blocked}" if decided["first low"] else HINTS[signal]), seed
    if (novelty, decided["klass"]) == ("MEDIUM", "HIGH"):
        assert "one more round" in says, seed
    if signal == "SHIP" and decided["klass"] == "MEDIUM":
        caveat = says.partition("caveat")[2]
        below = [name.removesuffix("_score").replace("_", " ") for name, score in decided["parts"].items() if score < 1]
        assert below, seed
        assert all(name in caveat for name in below), seed


@pytest.mark.slow
def test_the_random_transcripts_meet_every_signal_class_and_flag_often() -> None:
    met: Counter[str] = Counter()
    for seed in TRANSCRIPTS:
        found = read(random_transcript(seed), 2)
        says = found["stop_recommendation"]
        met[says["signal"]] += 1
        met["run of three"] += says["k_consecutive_low_novelty"] >= 3
        met["novelty " + says["novelty_classification"]] += 1
        met["readiness " + says["readiness_classification"]] += 1
        met.update(flag for flag, _ in found["flags"])
        met["paraphrase"] += any(row["new_claims_L1"] < row["new_claims_L0"] for row in found["novelty_by_round"])
    assert len(met) == 15, met
    assert min(met.values()) >= 10, met
