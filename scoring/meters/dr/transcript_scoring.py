"""Scores a transcript: every round is measured, and all of them together say what to do."""

from dataclasses import replace

from scoring.meters.dr.dr_result import DRResult
from scoring.meters.dr.extraction import FROM_TEXT
from scoring.meters.dr.meanings import Embed, Meanings
from scoring.meters.dr.novelty import distinct, measure_novelty
from scoring.meters.dr.profile import BUILT_IN, DEFAULT, DRThresholds, Profile, Words
from scoring.meters.dr.readiness import ReadinessMeter
from scoring.meters.dr.recommendation import compose, find_flags, recommend, similarities, summary_of
from scoring.meters.dr.transcript import Transcript


def score_transcript(
    transcript: Transcript,
    *,
    k: int | None = None,
    embed: Embed | None = None,
    words: Words = BUILT_IN,
    thresholds: DRThresholds | None = None,
    profile: Profile | None = None,
) -> DRResult:
    """Score a transcript.

    Args:
        transcript: the rounds of a deliberation, at least one.
        k: how many rounds in a row must be low in novelty before that counts, at least 1; by default the profile's.
        embed: turns on level L2; called once, with every text that is compared.
        words: words that add to the profile's lists.
        thresholds: where classes begin; by default the profile's.
        profile: what the meter goes by; by default its own, which may change from release to release.

    Raises:
        ValueError: ``k`` is below 1, or ``embed`` gives no vectors.
    """
    profile = profile or DEFAULT
    profile = replace(profile, k=profile.k if k is None else k, thresholds=thresholds or profile.thresholds)
    if profile.k < 1:
        raise ValueError(f"k is {profile.k}; it is at least 1")
    rounds = transcript.rounds
    claims = [distinct(r.outputs.claims) for r in rounds]
    meanings = None
    if embed is not None:
        raw = [claim.raw for of_round in claims for claim in of_round]
        meanings = Meanings([*raw, *filter(None, map(summary_of, rounds))], embed)
    novelty = measure_novelty([r.round for r in rounds], claims, profile, meanings)
    meter = ReadinessMeter(profile, words)
    given = [(r.round, r.outputs.next_actions, r.outputs.open_questions) for r in rounds]
    questions = [len(asked) for _, _, asked in given]
    readiness = tuple(
        meter.measure(*parts, before) for parts, before in zip(given, [None, *questions[:-1]], strict=True)
    )
    stability = similarities(rounds, claims, meanings) if meanings else None
    return DRResult(
        k=profile.k,
        novelty=novelty,
        readiness=readiness,
        recommendations=recommend(novelty, readiness, profile),
        similarity=stability[-1] if stability else None,
        composite=compose(novelty, readiness, stability, profile),
        flags=find_flags(novelty, readiness, questions),
        added_words=tuple(word for parts in given for word in meter.added_words(*parts)) if words != BUILT_IN else (),
        rough_rounds=tuple(r.round for r in rounds if r.outputs.claims_from == FROM_TEXT),
    )
