"""Names of this room that are about to go."""

from collections.abc import Iterator, Sequence

from scoring.evidence.commands.file_writes import ANY_BELOW as ANY_BELOW
from scoring.evidence.commands.file_writes import possible_targets
from scoring.evidence.commands.file_writes import rewritten_path as rewritten
from scoring.evidence.commands.git_commands import ROOT_COMMIT as FIRST
from scoring.evidence.commands.git_commands import commit_lines as commit_lines
from scoring.evidence.commands.git_commands import commit_requests as commits_asked
from scoring.evidence.commands.git_commands import resets as resets
from scoring.evidence.commands.run_folders import TEMPORARY_FOLDERS as TEMPORARY
from scoring.evidence.commands.run_folders import is_elsewhere as is_elsewhere
from scoring.evidence.commands.verifier_programs import TOOLS_BY_VERIFIER_TYPE as TOOLS_OF
from scoring.evidence.commands.verifier_programs import program_names as program_names

__all__ = [
    "ANY_BELOW",
    "FIRST",
    "TEMPORARY",
    "TOOLS_OF",
    "commit_lines",
    "commits_asked",
    "is_elsewhere",
    "program_names",
    "resets",
    "rewritten",
    "targets",
]


def targets(words: Sequence[str], text: str, passed: bool = False) -> Iterator[str]:
    """See :func:`possible_targets`."""
    return possible_targets(words, text, takes_words=passed)
