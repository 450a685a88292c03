"""Claims and questions cut out of running text by rough rules: docs/DIMINISHING_RETURNS.md, "Claims from text"."""

import copy
import re
from collections.abc import Iterator
from typing import Any

FROM_TEXT = "text"  # what ``claims_from`` says of claims that were cut out of text

_ROUND = re.compile(r"[#*\s]*round\s+([0-9]{1,9})(?![\w.])[\s:*.-]*(.*)", re.IGNORECASE)
_ITEM = re.compile(r"\s*(?:[-*+\u2022]|[0-9]{1,3}[.)])\s+")
_HEADING = re.compile(r"\s*#{1,6}\s")
_FENCE = re.compile(r"\s*(?:```|~~~)")
# possessive, so that no run of marks is read twice
_END = re.compile(
    r"(?<![.!?])[.!?]++[\"'\u201d\u2019)\]]*+(?:(?=\s++[\"'\u201c\u2018(\[]*+[^\W_a-z])|$)"
)
_LAST_WORD = re.compile(r"[\w.]+\Z")
_ABBREVIATIONS = frozenset(
    (
        *(
            "e.g",
            "i.e",
            "etc",
            "vs",
            "cf",
            "al",
            "approx",
            "ca",
            "dr",
            "mr",
            "mrs",
            "ms",
            "prof",
            "st",
            "no",
            "nos",
        ),
        *(
            "fig",
            "eq",
            "sec",
            "ch",
            "vol",
            "p",
            "pp",
            "inc",
            "ltd",
            "co",
            "corp",
            "dept",
            "est",
            "jan",
            "feb",
            "mar",
        ),
        *(
            "apr",
            "jun",
            "jul",
            "aug",
            "sep",
            "sept",
            "oct",
            "nov",
            "dec",
            "u.s",
            "u.k",
            "a.m",
            "p.m",
        ),
    )
)
_LONGEST_WORD = 40


def sentences_of(text: str) -> tuple[list[str], list[str]]:
    """Cut text into sentences that state something, claims, and those that ask, in order and each once."""
    claims: dict[str, None] = {}
    questions: dict[str, None] = {}
    for paragraph in _paragraphs(text):
        for sentence in _sentences(paragraph):
            if sentence.rstrip("\"'\u201d\u2019)]*").endswith("?"):
                questions[sentence] = None
            elif len(sentence.split()) >= 3:
                claims[sentence] = None
    return list(claims), list(questions)


def _paragraphs(text: str) -> Iterator[str]:
    """Yield paragraphs and list items, their lines joined; code and headings are left out."""
    lines: list[str] = []
    in_code = False
    for line in (*text.splitlines(), ""):
        if _FENCE.match(line):
            in_code = not in_code
            continue
        item = _ITEM.match(line)
        if in_code or item or not line.strip() or _HEADING.match(line):
            if lines:
                yield " ".join(lines)
            lines = [line[item.end() :].strip()] if item and not in_code else []
        else:
            lines.append(line.strip())
    if lines:
        yield " ".join(lines)


def _sentences(paragraph: str) -> Iterator[str]:
    start = 0
    for end in _END.finditer(paragraph):
        if (
            end[0].startswith(".")
            and end.end() < len(paragraph)
            and _is_abbreviation(paragraph, end.start())
        ):
            continue
        if sentence := paragraph[start : end.end()].strip():
            yield sentence
        start = end.end()
    if rest := paragraph[start:].strip():
        yield rest


def _is_abbreviation(text: str, stop: int) -> bool:
    word = _LAST_WORD.search(text[max(0, stop - _LONGEST_WORD) : stop])
    return word is not None and (
        word[0].lower() in _ABBREVIATIONS or (len(word[0]) == 1 and word[0].isalpha())
    )


def with_claims(outputs: dict[str, Any]) -> dict[str, Any]:
    """Return the outputs of a round with claims, and questions, from its ``text``, where none are given."""
    text = outputs.get("text")
    if "claims" in outputs or not isinstance(text, str) or not text.strip():
        return outputs
    claims, questions = sentences_of(text)
    found = copy.copy(outputs)  # which remembers the keys that were given twice
    found |= {"claims": claims, "claims_from": FROM_TEXT}
    found.setdefault("open_questions", questions)
    return found


def transcript_of(text: str) -> dict[str, Any]:
    """Return a transcript of running text: a line "Round 2" begins a round; without any, all of it is one round."""
    rounds: dict[int, list[str]] = {}
    lines: list[str] = []
    before = lines
    for line in text.splitlines():
        if heading := _ROUND.fullmatch(line):
            lines = rounds.setdefault(int(heading[1]), [])
            lines.append(heading[2])
        else:
            lines.append(line)
    rounds = rounds or {1: before}
    texts = {number: "\n".join(parts).strip() for number, parts in rounds.items()}
    return {
        "rounds": [
            {"round": number, "outputs": with_claims({"text": said})}
            for number, said in texts.items()
        ]
    }
