"""What is new in the messages of a meeting, by the matcher of the diminishing-returns meter.

Each message is compared with all that were said before it, in its round and in earlier ones: by its words (level L1),
and with an embedder by its meaning as well (level L2). See docs/DELIBERATION.md, "From messages".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from scoring.meters.dr.meanings import Embed, Meanings
from scoring.meters.dr.novelty import normalize
from scoring.meters.dr.profile import DEFAULT
from scoring.meters.dr.shared_words import new_by_words
from scoring.meters.meeting.records import JudgeRecord


@dataclass(frozen=True, slots=True)
class MessageNovelty:
    """How many messages of a round are new and how many were said before, and by which level; the judge's beside it."""

    novel: int
    repeated: int
    matched_by: Literal["L1", "L2"]
    judge_novel: int | None
    judge_repeated: int | None

    @property
    def share(self) -> float:
        """The share of messages that are new, 0 to 1; 0 without messages."""
        total = self.novel + self.repeated
        return self.novel / total if total else 0.0

    @property
    def judge_share(self) -> float | None:
        """The same of the judge's points; None where the judge has not counted."""
        if self.judge_novel is None or self.judge_repeated is None:
            return None
        total = self.judge_novel + self.judge_repeated
        return self.judge_novel / total if total else 0.0


def message_novelty(records: Sequence[JudgeRecord], embed: Embed | None = None) -> dict[int, MessageNovelty]:
    """Return the novelty of the messages of each round that has some, by round; ``records`` are in order."""
    said = [(r.round_index, m.text) for r in records for m in r.messages or () if normalize(m.text)]
    alone = [[normalize(text)] for _, text in said]
    new = [answer for (answer,) in new_by_words(alone, DEFAULT.thresholds.paraphrase)]
    if embed is not None:
        raw = [[text] for _, text in said]
        by_meaning = Meanings([text for _, text in said], embed).new_claims(raw, DEFAULT.thresholds.semantic)
        new = [by_words and other for by_words, (other,) in zip(new, by_meaning, strict=True)]
    by_round: dict[int, list[bool]] = {}
    for (number, _), is_new in zip(said, new, strict=True):
        by_round.setdefault(number, []).append(is_new)
    found = {}
    for record in records:
        if answers := by_round.get(record.round_index):
            judge = record.novelty
            counted = (judge.novel_points_count, judge.repeated_points_count) if judge.is_counted else (None, None)
            level: Literal["L1", "L2"] = "L1" if embed is None else "L2"
            found[record.round_index] = MessageNovelty(sum(answers), len(answers) - sum(answers), level, *counted)
    return found
