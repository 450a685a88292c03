"""The data set of a fleet: Parquet files, and commits that say which of them count (docs/FLEET.md, "The data set").

::

    iterations/rubric=3.1.0/month=2026-01/00017…-1.parquet      likewise signals, integrity, outcomes, provenance, kept
    _fleet/commits/00017…-1.json                                what was added together: repositories and files

Files are written first and their commit last, in one piece, so a row is there once or not at all. Of several commits
with one repository the last counts; :meth:`DataSet.tidy` rewrites the files that hold rows of earlier ones. What no
commit names is left over from a fleet that ended early, and is taken away by the next.
"""

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from scoring.errors import InputError
from scoring.fleet.commits import Commit, PartFile, Standings, parsed, part_name, written
from scoring.fleet.lease import Lease
from scoring.fleet.store import Store
from scoring.fleet.tables import FLEET_TABLES, MONTH, REPOSITORY

_COMMITS = "_fleet/commits/"
_FEW_ROWS = 200_000
"""Below how many iterations a commit is a small one, and how many of these there may be before they are joined."""
_MANY_COMMITS = 24


class DataSet:
    """A data set at a URL. Only who holds its lease writes, and looks whether it still does before anything counts."""

    def __init__(self, store: Store, lease: Lease | None = None) -> None:
        """Take the store, and the lease of who writes; reads nothing yet."""
        self.store = store
        self.lease = lease
        self.commits: list[Commit] = []

    def load(self) -> "DataSet":
        """Read all commits, and return this.

        Raises:
            InputError: one cannot be read.
            FleetError: one is of a newer format.
        """
        names = [n for n in self.store.names(_COMMITS.rstrip("/")) if n.endswith(".json")]
        if self.store.local or len(names) < 8:
            read = [(name, self.store.get(name)) for name in names]
        else:
            from concurrent.futures import ThreadPoolExecutor

            with ThreadPoolExecutor(16) as pool:
                read = list(zip(names, pool.map(self.store.get, names), strict=True))
        found = [parsed(self.store.path(name), data) for name, data in read if data is not None]
        replaced = {one for commit in found for one in commit.replaces}
        self.commits = sorted((c for c in found if c.id not in replaced), key=lambda c: c.id)
        return self

    @property
    def rubrics(self) -> list[str]:
        """The versions of the rubrics that there are rows of, sorted."""
        return sorted({commit.rubric for commit in self.commits})

    def state(self, rubric: str) -> Standings:
        """Return what stands under a rubric."""
        state = Standings()
        for commit in self.of(rubric):
            state.take(commit)
        return state

    def of(self, rubric: str) -> list[Commit]:
        """Return the commits of a rubric, in order."""
        return [commit for commit in self.commits if commit.rubric == rubric]

    def superseded(self) -> dict[str, set[str]]:
        """Return by commit the repositories whose rows in it no longer count."""
        found: dict[str, set[str]] = defaultdict(set)
        for rubric in self.rubrics:
            standing = self.state(rubric).standing
            for commit in self.of(rubric):
                if gone := {d.repository for d in commit.done if standing[d.repository][0] != commit.id}:
                    found[commit.id] = gone
        return dict(found)

    def next_id(self) -> str:
        """Return an id that comes after those of all commits."""
        last = max((int(commit.id.partition("-")[0]) for commit in self.commits), default=0)
        return f"{max(time.time_ns(), last + 1):020d}"

    def check(self) -> None:
        """Do nothing, unless another fleet is known to have the data set by now.

        Raises:
            FleetError: it has.
        """
        if self.lease:
            self.lease.check()

    def add(self, commit: Commit, tables: Mapping[str, Any]) -> Commit:
        """Write rows, in tables that have the column ``month``, and then their commit; return it with its files.

        Raises:
            FleetError: another fleet has the data set by now; nothing counts.
            WriteError: something could not be written; then nothing counts.
        """
        self.check()
        parts: list[PartFile] = []
        for table, rows in tables.items():
            months = sorted(set(rows.column(MONTH).to_pylist()))
            for month in months:
                some = _where(rows, MONTH, [month]) if len(months) > 1 else rows
                parts.append(self.write(table, commit.rubric, month, commit.id, [some.drop_columns([MONTH])]))
        return self.put(commit, parts)

    def write(self, table: str, rubric: str, month: str, commit: str, tables: Iterable[Any]) -> PartFile:
        """Write one file of some tables one after another, which are not all held, and return it."""
        from pyarrow import parquet

        name = part_name(table, rubric, month, commit)
        rows = 0
        with self.store.writing(name) as out:
            writer = None
            for some in tables:
                if writer is None:
                    kinds = {field.name: str(field.type) for field in some.schema}
                    plain = not any(kind.startswith("dictionary") for kind in kinds.values())
                    few = [one for one, kind in kinds.items() if "string" in kind or "int" in kind]
                    how = {"compression": "zstd", "use_dictionary": few, "store_schema": plain}
                    writer = parquet.ParquetWriter(out, some.schema, **how)
                rows += some.num_rows
                writer.write_table(some)
            if writer:
                writer.close()
        return PartFile(name, table, month, rows)

    def copy(self, part: PartFile, rubric: str, commit: str) -> PartFile:
        """Write the rows of a file once more, as those of another rubric and commit, and return the new file."""
        name = part_name(part.table, rubric, part.month, commit)
        self.store.copy(part.name, name)
        return PartFile(name, part.table, part.month, part.rows)

    def put(self, commit: Commit, parts: Sequence[PartFile]) -> Commit:
        """Put a commit in place whose files are written, and return it with them.

        Raises:
            FleetError, WriteError: as :meth:`add`.
        """
        whole = Commit(**{n: getattr(commit, n) for n in commit.__slots__} | {"parts": tuple(parts)})
        if self.lease:
            self.lease.renew()
        self.store.put(f"{_COMMITS}{commit.id}.json", written(whole))
        self.commits = [c for c in self.commits if c.id not in commit.replaces] + [whole]
        return whole

    def tidy(self) -> int:
        """Rewrite files that hold rows which no longer count, join many small commits, and return how many there were.

        Raises:
            WriteError: something could not be written; everything counts as before.
        """
        gone, count = self.superseded(), 0
        for rubric in self.rubrics:
            commits = self.of(rubric)
            small = [c for c in commits if c.iterations < _FEW_ROWS]
            chosen = [c for c in commits if c.id in gone or (len(small) > _MANY_COMMITS and c in small)]
            # Those between must keep their order; what stands is by repository, so only the standing ones go on.
            if chosen:
                self._join(chosen, gone)
                count += len(chosen)
        return count

    def _join(self, chosen: Sequence[Commit], gone: Mapping[str, set[str]]) -> None:
        rubric, newest = chosen[0].rubric, chosen[-1]
        standing = [d for c in chosen for d in c.done if d.repository not in gone.get(c.id, ())]
        failed = self.state(rubric).failed
        ids = {c.id for c in chosen}
        ours = {d.repository for d in standing} | {f.repository for c in chosen for f in c.failed}
        still = tuple(f for f in failed.values() if f.repository in ours)
        new = Commit(
            self.next_id(), rubric, newest.digest, newest.evidence, tuple(standing), still, replaces=tuple(sorted(ids))
        )
        places: dict[tuple[str, str], list[tuple[str, set[str]]]] = defaultdict(list)
        for commit in chosen:
            for part in commit.parts:
                places[part.table, part.month].append((part.name, gone.get(commit.id, set())))
        parts = []
        for (table, month), files in sorted(places.items()):
            part = self.write(table, rubric, month, new.id, self._standing_rows(files))
            if part.rows:
                parts.append(part)
            else:
                self.store.remove([part.name])
        self.put(new, parts)
        self.store.remove(f"{_COMMITS}{c.id}.json" for c in chosen)
        self.store.remove(part.name for c in chosen for part in c.parts)

    def _standing_rows(self, files: Sequence[tuple[str, set[str]]]) -> Iterator[Any]:
        for name, gone in files:
            rows = self.read(name)
            yield _where(rows, REPOSITORY, sorted(gone), others=True) if gone else rows

    def read(self, name: str, columns: Sequence[str] | None = None, dictionaries: Sequence[str] = ()) -> Any:
        """Return one Parquet file as a ``pyarrow.Table``, or some ``columns`` of it, and those that are not missing.

        ``dictionaries`` are columns of few texts, which are read as numbers and the texts that they stand for.

        Raises:
            InputError: it is gone, or no Parquet file.
        """
        import pyarrow as pa
        from pyarrow import parquet

        data = self.store.get(name)
        if data is None:
            raise InputError(f"{self.store.path(name)}: is gone; was the data set changed by something else?")
        try:
            file = parquet.ParquetFile(pa.BufferReader(data), read_dictionary=list(dictionaries))
            return file.read(columns=columns)
        except (pa.ArrowException, OSError) as e:
            raise InputError(f"{self.store.path(name)}: no Parquet file: {' '.join(str(e).split())[:200]}") from e

    def names(self, part: str) -> list[str]:
        """Return the names of the columns of a Parquet file; none where it is gone."""
        import pyarrow as pa
        from pyarrow import parquet

        data = self.store.get(part)
        return list(parquet.ParquetFile(pa.BufferReader(data)).schema_arrow.names) if data is not None else []

    def sweep(self) -> int:
        """Take away what no commit names, which a fleet left that ended early; return how many files."""
        named = {part.name for commit in self.commits for part in commit.parts}
        named |= {f"{_COMMITS}{commit.id}.json" for commit in self.commits}
        there = [name for folder in (*FLEET_TABLES, _COMMITS.rstrip("/")) for name in self.store.names(folder)]
        left = [name for name in there if name not in named]
        self.store.remove(left)
        return len(left)


def _where(rows: Any, column: str, values: Sequence[str], others: bool = False) -> Any:
    """Return the rows whose column has one of some values, or none of them."""
    import pyarrow as pa
    from pyarrow import compute

    held = compute.is_in(rows.column(column), value_set=pa.array(values, pa.string()))
    return rows.filter(compute.invert(held) if others else held)
