"""The details of the signal ``landed``: how work landed, or why that is not known, in words."""

from collections.abc import Sequence

from scoring.evidence.git import facts as git
from scoring.evidence.git.facts import Landing, Tip, Unknown
from scoring.text import short

_UNKNOWN = {
    Unknown.NO_COMMIT: "no commit SHA on iteration entry",
    Unknown.NO_TRUNK: "no trunk: {how}",
    Unknown.UNRESOLVED: "commit SHA {field} does not resolve and no message match",
    Unknown.SHALLOW: (
        "history is shallow: commit {sha} may have landed on {trunk} before it begins"
    ),
    Unknown.HISTORY: "cannot read the history of commit {sha}",
    Unknown.MERGE: "commit {sha} is a merge commit off {trunk}",
    Unknown.FILES: "cannot read changed files for {sha}",
    Unknown.NO_CHANGE: "commit {sha} is off {trunk} and changes nothing",
    Unknown.OBJECTS: "cannot tell whether commit {sha} landed on {trunk}: objects are missing",
    Unknown.HELD: "commit {sha} is not on {trunk}, and {holder} has it",
    Unknown.HELD_IN_PART: "commit {sha} is not on {trunk}, and {holder} has lines of it",
    Unknown.PART: "commit {sha} is part of {whole} on {trunk}, where {share} lines are",
    Unknown.NOT_FOUND: "commit {sha} not found on {trunk}: {share} lines are there",
    Unknown.ELSEWHERE: (
        "commit {sha} not found on {trunk}: {share} lines are there, half in other files"
    ),
    Unknown.TOO_YOUNG: (
        "commit {sha} not found on {trunk}: {share} lines are there, and it is not 14 days old"
    ),
    Unknown.ALIKE: (
        "commit {sha} not found on {trunk}: {share} lines are there, but its subject is"
    ),
    Unknown.NO_LINES: "commit {sha} not found on {trunk}, and it adds no lines to look for",
    Unknown.LARGE: "commit {sha} not found on {trunk}, and it adds too many lines to look for",
    Unknown.LONG: (
        "commit {sha} not found on {trunk}, and too many commits came after it to look through"
    ),
}

_FOUND_BY = {
    git.ANCESTOR: "commit {sha} is an ancestor of {trunk}{merged}",
    git.PATCH_ID: "commit {sha} landed on {trunk} in {commit} with the same patch id",
    git.SQUASH: "commit {sha} landed on {trunk} in {commit} as a squash of its branch side",
    git.MERGE_TREE: "commit {sha} landed on {trunk}: merging it would change nothing",
    git.LATER_ANCESTOR: "commit {sha} landed on {trunk}{where}: it is an ancestor of {tip}",
    git.SUBJECT: "commit {sha} landed on {trunk} in {commit} with the same subject and {lines}",
    git.NAMED: "commit {sha} landed on {trunk} in {commit}, which names it, with {lines}",
    git.PULL_REQUEST: (
        "commit {sha} landed on {trunk} in {commit} as part of {request}, with {lines}"
    ),
    git.NUMBERED: (
        "commit {sha} landed on {trunk} in {commit}"
        " with the same subject and {request}, and {lines}"
    ),
    git.LISTED: (
        "commit {sha} landed on {trunk} in {commit}, which lists its subject, with {lines}"
    ),
    git.LINES: "commit {sha} landed on {trunk} in {commit} by lines: {lines}",
    git.RELEASED: "commit {sha} landed on {holder} and is not on {trunk}",
    git.MESSAGE: "unresolved SHA {field}; {trunk} has {commit} with the summary as its subject",
}

_NOT_FOUND = (
    "commit {sha} did not land on {trunk}: not found by ancestry, patch id, squash, merge,"
    " later commit, branch or subject"
)
_NO_LINE_LEFT = (
    "commit {sha} did not land on {trunk}: none of its {total} lines is there after 14 days"
)


def unknown_detail(landing: Landing, unknown: Unknown) -> str:
    """Return why it is not known whether work landed."""
    return _unknown_words(landing, unknown).format(**_particulars(landing))


def unknown_reason(landing: Landing, unknown: Unknown) -> str:
    """Return the same without what is particular to one commit."""
    hidden = dict.fromkeys(("field", "sha", "holder", "whole"), "…") | {"share": "K of N"}
    return _unknown_words(landing, unknown).format(**_particulars(landing) | hidden)


def _particulars(landing: Landing) -> dict[str, str]:
    """Return what goes into the words about a landing."""
    commit = short(landing.commit or "")
    on_trunk, total = landing.lines or (0, 0)
    kind = "removed lines" if landing.removed else "lines"
    request = f"#{landing.request}" if landing.request else ""

    tip = landing.tip or Tip("")
    speaker = f"branch {tip.branch}" if tip.branch else f"iteration {tip.iteration}'s commit"
    return {
        "field": short(landing.field),
        "sha": short(landing.sha or ""),
        "trunk": landing.trunk.name,
        "how": landing.trunk.how,
        "holder": tip.branch,
        "whole": request or short(landing.part_of or ""),
        "share": f"{on_trunk} of {total}",
        "total": str(total),
        "lines": f"{on_trunk} of its {total} {kind}",
        "commit": commit,
        "merged": f", merged in {short(landing.merged_in)}" if landing.merged_in else "",
        "where": f" in {commit}" if commit else "",
        "tip": f"{speaker} {short(tip.sha)}, found by {tip.method}",
        "request": request,
    }


def _unknown_words(landing: Landing, unknown: Unknown) -> str:
    words = _UNKNOWN[unknown]
    is_cut = landing.trunk.shallow and landing.rules == "attributed"
    if unknown is Unknown.UNRESOLVED and is_cut:
        words += "; history is shallow"
    return words


def reference_detail(landing: Landing) -> str:
    """Return how work landed, or that it did not, as the reference words it."""
    trunk = landing.trunk.name
    reverting = short(landing.reverted_by or "")

    if landing.found_by == git.MESSAGE:
        match = f"unresolved SHA {short(landing.field)}; message-matched"
        commit = short(landing.commit or "")
        if reverting:
            return f"{match} {commit}, later reverted by {reverting}"
        return f"{match} {commit} reachable from {trunk}"

    commit = f"commit {short(landing.sha or '')}"
    if landing.found_by == git.NOT_LANDED:
        return f"{commit} not reachable from {trunk}"
    if reverting:
        return f"{commit} reachable but reverted by {reverting}"
    return f"{commit} reachable from {trunk}, not reverted"


def observed_detail(landing: Landing) -> str:
    """Return how work landed and whether it was reverted, or that it did not land."""
    if landing.found_by == git.NOT_LANDED:
        return _not_landed(landing)

    detail = _FOUND_BY[landing.found_by].format(**_particulars(landing))
    if landing.reverted_by:
        return f"{detail}, but reverted by {short(landing.reverted_by)}"
    if landing.taken_back_by:
        return f"{detail}, but taken back by {short(landing.taken_back_by)}"
    return f"{detail}, not reverted"


def _not_landed(landing: Landing) -> str:
    words = _NO_LINE_LEFT if landing.lines and landing.lines.total else _NOT_FOUND
    detail = words.format(**_particulars(landing))
    if landing.old_git:
        version = _version(landing.old_git)
        detail += f" (no merge tried: git {version} is older than {_version(git.MERGE_GIT)})"
    return detail


def _version(numbers: Sequence[int]) -> str:
    return ".".join(map(str, numbers))
