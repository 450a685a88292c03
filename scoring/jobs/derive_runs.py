"""Writes an entry, and a reward, for every graded run: ``docs/VALIDITY.md``, "Rewards"."""

from pathlib import Path

from scoring.errors import InputError
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.rewards import GradedRun, graded_runs, reward_file_name, source_of_reward
from scoring.files import exclusive_lock, make_folder, write_together
from scoring.jobs.entry_fields import ENTRY_MODE, entry_text, quoted
from scoring.jobs.existing_log import PATIENCE, read_existing_log


def derive_runs(
    log_dir: Path,
    repo_dir: Path | str,
    folder: Path,
    dry_run: bool,
) -> list[tuple[int, GradedRun]]:
    """Write an entry, with a reward file, for every graded run that does not have one.

    Args:
        log_dir: the log, which is made where it does not exist.
        repo_dir: the repository of the log.
        folder: the folder of the runs.
        dry_run: whether nothing is written.

    Returns:
        The runs that were new, with the numbers of their entries.

    Raises:
        InputError: the folder does not exist.
        LogError, NotARepositoryError, GitError, WriteError: as for ``derive``.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: no such directory")

    with exclusive_lock(GitRepository(repo_dir).common_dir, seconds=PATIENCE):
        log = read_existing_log(log_dir)
        sources = {source_of_reward(log_dir, record.iteration) for record in log.records}
        new_runs = [run for run in graded_runs(folder) if run.source not in sources]
        numbered = list(enumerate(new_runs, start=log.highest + 1))

        if numbered and not dry_run:
            make_folder(log_dir)
            write_together(_files_of_runs(log_dir, numbered), ENTRY_MODE)

    return numbered


def _files_of_runs(
    log_dir: Path, numbered: list[tuple[int, GradedRun]]
) -> list[tuple[Path, bytes]]:
    files: list[tuple[Path, bytes]] = []

    for iteration, run in numbered:
        fields = {"date": quoted(run.date), "task_id": quoted(run.task)}
        agent = {"session_id": run.session, "harness": run.harness, "model": run.model}
        entry = entry_text(iteration, fields, agent, run.source)
        files.append((log_dir / f"iter-{iteration}.yaml", entry))

        reward = f"source: {quoted(run.source)}\n"
        if run.reward is not None:
            reward += f"reward: {run.reward!r}\n"
        files.append((log_dir / reward_file_name(iteration), reward.encode()))

    return files
