"""The data set of a fleet: Delta tables of rows, and last ``repositories``, which names the versions that count."""

import contextlib
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from scoring.errors import DaScoreError, FleetError, InputError, WriteError
from scoring.files import exclusive_lock, make_folder
from scoring.fleet.fleet_toml import Storage, one_line, results_at
from scoring.fleet.tables import FLEET_TABLES, RUBRIC, partitioned_schema, partitions_of
from scoring.views.formats import require

REPOSITORIES = "repositories"

_CONFIGURATION = {"delta.checkpointInterval": "10"}
_FILES_TOGETHER = 24  # a table with more files than this in one month has its small files joined
_KEPT_HOURS = 24  # for how long files stay that no longer count, for readers that began before


@dataclass(frozen=True, slots=True)
class RepositoryState:
    """What is known of a repository under a rubric, as the table ``repositories`` has it."""

    rubric: str
    repository: str
    scored: bool = False  # whether it has rows; they were made of ``fingerprint``
    digest: str = ""  # of the rubric's content
    evidence: str = "{}"  # how the rubric has evidence read, as JSON
    fingerprint: str = ""
    iterations: int = 0
    broken: int = 0  # how many entries could not be read and are left out
    watched: str = (
        "[]"  # files that its entries name, which are part of the fingerprint; a JSON list
    )
    reason: str = ""  # why it failed the last time
    attempts: int = 0  # after how many it was given up


class DataSet:
    """A data set as it was when it was opened; InputError if it cannot be read."""

    def __init__(self, url: str, storage: Storage | None = None) -> None:
        require("fleet", "deltalake", "pyarrow")
        from deltalake import DeltaTable

        self.url, self.storage = url, storage or {}
        self._root, self._options, _ = results_at(url, self.storage)
        self._tables: dict[str, Any] = {}
        self._counting: dict[str, int] = {}
        self.states: dict[tuple[str, str], RepositoryState] = {}  # by rubric and repository
        with self._reading():
            if not DeltaTable.is_deltatable(f"{self._root}/{REPOSITORIES}", self._options):
                return
            known = self._table(REPOSITORIES)
            there = [
                n
                for n in FLEET_TABLES
                if DeltaTable.is_deltatable(f"{self._root}/{n}", self._options)
            ]
            self._tables = {name: self._table(name) for name in there} | {REPOSITORIES: known}
            self._counting = {name: known.transaction_version(name) or 0 for name in FLEET_TABLES}
            names = [field.name for field in fields(RepositoryState)]
            found = known.to_pyarrow_dataset().to_table(names).to_pylist()
            self.states = {
                (row["rubric"], row["repository"]): RepositoryState(**row) for row in found
            }

    @classmethod
    @contextlib.contextmanager
    def for_writing(cls, url: str, storage: Storage | None = None) -> Iterator["DataSet"]:
        """Open a data set to write to, or make it; FleetError where another fleet writes, InputError, WriteError."""
        with contextlib.ExitStack() as stack:
            if folder := results_at(url, storage or {})[2]:  # elsewhere the first to commit goes on
                make_folder(folder)
                try:
                    stack.enter_context(exclusive_lock(folder, 0))
                except WriteError as e:
                    what = "another fleet writes here; wait until it has ended, then start again"
                    raise FleetError(f"{url}: {what}") from e
            dataset = cls(url, storage)
            dataset._prepare()
            yield dataset

    @property
    def rubrics(self) -> list[str]:
        """The rubrics under which repositories were scored or failed, sorted."""
        return sorted({rubric for rubric, _ in self.states})

    def of(self, rubric: str) -> dict[str, RepositoryState]:
        """Return what is known under a rubric, by repository."""
        return {name: state for (version, name), state in self.states.items() if version == rubric}

    def rows(self, table: str) -> Any:
        """Return the rows of a table that count, as a ``pyarrow.dataset.Dataset``, with columns as they are today."""
        import pyarrow as pa
        from pyarrow import dataset as arrow

        schema = partitioned_schema(table)
        if table not in self._tables:
            return arrow.dataset(schema.empty_table())
        with self._reading():
            found = self._table(table)
            if found.version() != self._counting[table]:
                found.load_as_version(self._counting[table])
            return found.to_pyarrow_dataset(
                schema=pa.schema([field.with_nullable(True) for field in schema])
            )

    def put(self, tables: Mapping[str, Any], where: str | None = None) -> None:
        """Write rows, in place of those ``where`` names; they count after :meth:`note`. WriteError, FleetError."""
        for table, rows in tables.items():
            if where or rows.num_rows:
                self._write(table, rows, where)

    def note(self, states: Sequence[RepositoryState]) -> None:
        """Write what is known of repositories under one rubric; all rows count that were put. Raises as :meth:`put`."""
        import pyarrow as pa

        again = any((state.rubric, state.repository) in self.states for state in states)
        where = (
            where_of(states[0].rubric, [state.repository for state in states]) if again else None
        )
        rows = pa.Table.from_pylist([asdict(state) for state in states], schema=_state_schema())
        versions = {name: self._tables[name].version() for name in FLEET_TABLES}
        self._write(REPOSITORIES, rows, where, versions)
        self._counting = versions
        self.states |= {(state.rubric, state.repository): state for state in states}

    def tidy(self) -> None:
        """Join small files, and remove those that have not counted for a day; raises as :meth:`put`."""
        for table in self._tables.values():
            with self._writing():
                files = Counter(os.path.dirname(name) for name in table.file_uris())
                if max(files.values(), default=0) > _FILES_TOGETHER:
                    table.optimize.compact(
                        commit_properties=_commit(), writer_properties=_written()
                    )
                how = {"dry_run": False, "enforce_retention_duration": False, "full": True}
                table.vacuum(_KEPT_HOURS, commit_properties=_commit(), **how)
        self.note([])

    def _write(
        self, table: str, rows: Any, where: str | None, versions: Mapping[str, int] | None = None
    ) -> None:
        from deltalake import write_deltalake

        how: Any = {"mode": "overwrite", "predicate": where} if where else {"mode": "append"}
        how |= {"schema_mode": "merge", "writer_properties": _written()}
        with self._writing():
            write_deltalake(self._tables[table], rows, commit_properties=_commit(versions), **how)

    def _prepare(self) -> None:
        from deltalake import DeltaTable

        schemas = {name: (partitioned_schema(name), partitions_of(name)) for name in FLEET_TABLES}
        schemas[REPOSITORIES] = _state_schema(), [RUBRIC]
        with self._writing():
            for name, (schema, by) in schemas.items():
                if name not in self._tables:
                    how: Any = {"configuration": _CONFIGURATION, "storage_options": self._options}
                    DeltaTable.create(f"{self._root}/{name}", schema, "ignore", by, **how)
                    self._tables[name] = self._table(name)
            ahead = [
                name
                for name in FLEET_TABLES
                if self._tables[name].version() != self._counting.get(name, 0)
            ]
            for name in ahead:
                self._tables[name].restore(self._counting.get(name, 0), commit_properties=_commit())
        if ahead:
            self.note([])

    def _table(self, name: str) -> Any:
        from deltalake import DeltaTable

        return DeltaTable(f"{self._root}/{name}", storage_options=self._options)

    @contextlib.contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except DaScoreError:
            raise
        except Exception as e:
            raise InputError(f"{self.url}: cannot be read: {one_line(e)}") from e

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        from deltalake.exceptions import CommitFailedError

        try:
            yield
        except CommitFailedError as e:
            raise FleetError(
                f"{self.url}: another fleet has written here meanwhile; what this one added stays, "
                "start again when the other has ended"
            ) from e
        except Exception as e:
            raise WriteError(f"{self.url}: cannot write: {one_line(e)}") from e


def where_of(rubric: str | None, repositories: Iterable[str]) -> str:
    """Return the condition, as SQL, for the rows of some repositories, under a rubric where their table has one."""
    under = f"{RUBRIC} = {sql_text(rubric)} AND " if rubric is not None else ""
    return f"{under}repository IN ({', '.join(map(sql_text, repositories))})"


def sql_text(text: str) -> str:
    """Return a text as a literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


def _commit(versions: Mapping[str, int] | None = None) -> Any:
    from deltalake import CommitProperties, Transaction

    given = [Transaction(*one) for one in (versions or {}).items()]
    return CommitProperties(max_commit_retries=0, app_transactions=given)


def _written() -> Any:
    from deltalake import WriterProperties

    return WriterProperties(compression="ZSTD")


def _state_schema() -> Any:
    import pyarrow as pa

    kinds: dict[Any, Any] = {str: pa.string(), int: pa.int64(), bool: pa.bool_()}
    return pa.schema([(field.name, kinds[field.type]) for field in fields(RepositoryState)])
