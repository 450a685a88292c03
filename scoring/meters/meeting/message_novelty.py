"""How many messages of each round of a meeting are new to all before."""

from collections import Counter
from typing import Literal

from msgspec.structs import replace

from scoring.frozen import Frozen
from scoring.meters.dr.novelty import distinct, measure_novelty, normalize
from scoring.meters.dr.profile import DEFAULT
from scoring.meters.dr.semantic import Embed, Meanings

from .records import JudgeRecord
from .round_scores import share_of_new

_BY_WORDS = replace(DEFAULT, levels=("L1",))
"""How messages are compared: by their words, and by their meaning with an embedder."""


class MessageNovelty(Frozen):
    """How many messages of a round are new, and what the judge counted.

    Attributes:
        novel: how many messages are new.
        repeated: how many were said before.
        matched_by: L1 where words decide, L2 where meaning does too.
        judge_novel: how many new points the judge counted; None where the judge did not count.
        judge_repeated: how many repeated points the judge counted; None where it did not count.
    """

    novel: int
    repeated: int
    matched_by: Literal["L1", "L2"]
    judge_novel: int | None
    judge_repeated: int | None

    @property
    def share(self) -> float:
        """The share of messages that are new, 0 to 1, or 0 without messages."""
        return share_of_new(self.novel, self.repeated)

    @property
    def judge_share(self) -> float | None:
        """The share of the judge's points that are new, or None where it has not counted."""
        if self.judge_novel is None:
            return None
        return share_of_new(self.judge_novel, self.judge_repeated or 0)


def message_novelty(
    records: list[JudgeRecord], embed: Embed | None
) -> dict[int, MessageNovelty]:
    """Return how many messages of each round no earlier message repeats, by the round's number.

    Args:
        records: the records, sorted by round. Those without messages are left out.
        embed: an embedder, with which a message is new when both its words and its meaning are;
            None compares words alone.

    Raises:
        SettingsError, ValueError: as of :class:`~scoring.meters.dr.semantic.Meanings`.
    """
    spoken = []
    texts = []
    for record in records:
        for message in record.messages or ():
            if normalize(message.text):
                spoken.append(record.round_index)
                texts.append(message.text)

    # Each message is compared like a round of one claim.
    claims = {index: distinct([text]) for index, text in enumerate(texts)}
    meanings = None
    if embed is not None:
        meanings = Meanings(texts, embed)
    measured = measure_novelty(claims, _BY_WORDS, meanings)

    spoken_by_round = Counter(spoken)
    new = Counter[int]()
    for number, claim in zip(spoken, measured, strict=True):
        new[number] += claim.new_claims

    novelty = {}
    for record in records:
        number = record.round_index
        if number not in new:
            continue

        counts = record.novelty
        novelty[number] = MessageNovelty(
            novel=new[number],
            repeated=spoken_by_round[number] - new[number],
            matched_by="L1" if embed is None else "L2",
            judge_novel=counts.novel_points_count if counts.is_counted else None,
            judge_repeated=counts.repeated_points_count if counts.is_counted else None,
        )
    return novelty


def with_counts(record: JudgeRecord, messages: MessageNovelty | None) -> JudgeRecord:
    """Return a record with the counts of its messages where the judge has not counted points.

    Any other record, and one without messages, is returned as it is.
    """
    if messages is None or record.novelty.is_counted:
        return record
    counts = {
        "novel_points_count": messages.novel,
        "repeated_points_count": messages.repeated,
    }
    return record.model_copy(
        update={"novelty": record.novelty.model_copy(update=counts)}
    )
