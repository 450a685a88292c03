"""How many messages of each round of a meeting are new to all before."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from scoring.meters.dr.novelty import new_by_words, normalize
from scoring.meters.dr.profile import DEFAULT
from scoring.meters.dr.semantic import Embed, Meanings
from scoring.meters.meeting.records import JudgeRecord

MessageLevel: TypeAlias = Literal["L1", "L2"]


@dataclass(frozen=True, slots=True)
class MessageNovelty:
    """How many messages of a round are new, and what the judge counted.

    Attributes:
        novel: how many messages are new.
        repeated: how many were said before.
        matched_by: L1 where words decide, L2 where meaning does too.
        judge_novel: how many new points the judge counted; None where it did not count.
        judge_repeated: how many repeated points it counted, likewise.
    """

    novel: int
    repeated: int
    matched_by: MessageLevel
    judge_novel: int | None
    judge_repeated: int | None

    @property
    def share(self) -> float:
        """The share of messages that are new, 0 to 1, or 0 without messages."""
        return _share_of_new(self.novel, self.repeated)

    @property
    def judge_share(self) -> float | None:
        """The share of the judge's points that are new, or None where it has not counted."""
        if self.judge_novel is None:
            return None
        return _share_of_new(self.judge_novel, self.judge_repeated or 0)


def _share_of_new(novel: int, repeated: int) -> float:
    return novel / (novel + repeated) if novel + repeated else 0.0


class _SpokenMessage(NamedTuple):
    round_index: int
    text: str


def message_novelty(
    records: Sequence[JudgeRecord], embed: Embed | None = None
) -> dict[int, MessageNovelty]:
    """Return how many messages of each round are new to all before, by the number of the round.

    Args:
        records: the records, sorted by round. Those without messages are left out.
        embed: an embedder: then a message is new when both its words and its meaning are.
    """
    messages = [
        _SpokenMessage(record.round_index, message.text)
        for record in records
        for message in record.messages or ()
        if normalize(message.text)
    ]
    new_by_round: dict[int, list[bool]] = {}
    for message, is_new in zip(messages, _new_messages(messages, embed), strict=True):
        new_by_round.setdefault(message.round_index, []).append(is_new)

    novelty = {}
    for record in records:
        answers = new_by_round.get(record.round_index)
        if answers:
            level: MessageLevel = "L1" if embed is None else "L2"
            novelty[record.round_index] = _message_novelty(record, answers, level)
    return novelty


def _new_messages(messages: Sequence[_SpokenMessage], embed: Embed | None) -> list[bool]:
    """Return which messages are new to all before. Each is compared like a round of one claim."""
    texts = [[normalize(message.text)] for message in messages]
    by_words = new_by_words(texts, DEFAULT.thresholds.paraphrase)
    new = [answers[0] for answers in by_words]
    if embed is None:
        return new

    raw = [message.text for message in messages]
    by_meaning = Meanings(raw, embed).new_claims(
        [[text] for text in raw], DEFAULT.thresholds.semantic
    )
    return [
        new_in_words and answers[0] for new_in_words, answers in zip(new, by_meaning, strict=True)
    ]


def _message_novelty(
    record: JudgeRecord, answers: Sequence[bool], level: MessageLevel
) -> MessageNovelty:
    judge_novel = None
    judge_repeated = None
    if record.novelty.is_counted:
        judge_novel = record.novelty.novel_points_count
        judge_repeated = record.novelty.repeated_points_count

    return MessageNovelty(
        novel=sum(answers),
        repeated=len(answers) - sum(answers),
        matched_by=level,
        judge_novel=judge_novel,
        judge_repeated=judge_repeated,
    )


def with_counts(record: JudgeRecord, messages: MessageNovelty | None) -> JudgeRecord:
    """Return a record with the counts of its messages where the judge has not counted points."""
    if messages is None or record.novelty.is_counted:
        return record
    counts = {
        "novel_points_count": messages.novel,
        "repeated_points_count": messages.repeated,
    }
    return record.model_copy(update={"novelty": record.novelty.model_copy(update=counts)})
