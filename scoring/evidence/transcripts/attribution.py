"""Attribution: which lines of which sessions belong to which iteration.

For each iteration the first method counts that applies: the checkpoints that its commit names, the sessions that made
its commit, the session that its entry names, the lines left in its window of time. A line counts for one iteration: the
first in this order, and then by number. ``docs/EVIDENCE.md``, "Attribution", has the rules.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from scoring.evidence.transcripts.facts import Method
from scoring.evidence.transcripts.makers import NO_ITERATION, Asked, KnownCommits, LandedAs
from scoring.evidence.transcripts.streams import File, Made, Session, SessionKey

NO_WINDOW = "commit time unresolvable; cannot window the transcript"
NOT_COVERED = "no transcript covers the iteration window"
EMPTY = "session found, no turns in its part"
NO_TRANSCRIPT = "the checkpoint that its commit names has no transcript here"  # why an iteration has no lines


@dataclass(slots=True)
class Share:
    """What attribution found for one iteration; its lines are those of the place ``group``, its own or a shared one.

    ``end`` is when it ended (the line of the result that made the commit; else its author time; else the end of its
    part), None where it has no lines. ``stated`` are checkpoints: their totals are all that is known of it.
    """

    group: int
    method: Method | None = None
    sessions: tuple[SessionKey, ...] = ()
    problem: str = ""
    shared_with: int | None = None
    end: int | None = None
    made: Made | None = None
    stated: tuple[str, ...] = ()


@dataclass
class Attribution:
    """The lines of all iterations: ``owners`` has, for each, the place of its iteration, or :data:`NO_ITERATION`."""

    asked: Sequence[Asked]
    files: Sequence[File]
    sessions: Mapping[SessionKey, Session]
    landed_as: LandedAs
    owners: list[int]
    stated: Collection[str] = ()
    """The ids of checkpoints that have no transcript here and state the tokens of their sessions."""
    shares: list[Share] = field(default_factory=list)

    def run(self) -> list[Share]:
        """Give each line to its iteration, and return what each iteration has."""
        self._makers = KnownCommits(self.asked, self.sessions, self.landed_as)
        self._parts = self._checkpoint_parts()
        self.shares = [Share(n) for n in range(len(self.asked))]
        waiting = self._by_checkpoint(range(len(self.asked)))
        if waiting:
            self._makers.learn_landed()
        self._by_time(self._by_totals(self._by_session(self._by_commit(waiting))))
        return self.shares

    def _take(self, place: int, lines: Iterable[int]) -> int:
        """Give lines that are still free to an iteration, and return how many they are."""
        owners, count = self.owners, 0
        for line in lines:
            if owners[line] == NO_ITERATION:
                owners[line] = place
                count += 1
        return count

    # 1. Checkpoints

    def _checkpoint_parts(self) -> dict[str, dict[SessionKey, list[tuple[int, int]]]]:
        """Return the part of each session in each checkpoint, by the checkpoint's id: times and lines."""
        by_session: dict[SessionKey, list[File]] = {}
        for file in self.files:
            if file.checkpoint:
                by_session.setdefault((file.harness.name, file.owner), []).append(file)
        parts: dict[str, dict[SessionKey, list[tuple[int, int]]]] = {}
        for key, files in by_session.items():
            seen: set[int] = set()
            spans: list[tuple[int, int, str]] = []
            for file in sorted(files, key=lambda file: file.order):
                start = file.start if file.start and not seen and file.rows.opens else 0
                numbered = zip(file.numbers, file.times, file.ids, strict=True)
                lines = [(time, line) for n, time, line in numbered if n >= start and line not in seen]
                seen.update(file.ids)
                parts.setdefault(file.checkpoint, {}).setdefault(key, []).extend(lines)
                if lines:
                    spans.append((max(lines)[0], min(lines)[0], file.checkpoint))
            self._add_beside(key, seen, spans, parts)
        return parts

    def _add_beside(
        self,
        key: SessionKey,
        seen: set[int],
        spans: Sequence[tuple[int, int, str]],
        parts: Mapping[str, dict[SessionKey, list[tuple[int, int]]]],
    ) -> None:
        """Add the lines of files that no checkpoint repeats, those of sub-agents, to the part of their time."""
        spans = sorted(spans)
        beside = [file for file in self.sessions[key].files if not file.checkpoint and seen.isdisjoint(file.ids)]
        ends = [end for end, _, _ in spans]
        for file in beside:
            for time, line, here in zip(file.times, file.ids, file.here, strict=True):
                at = bisect_left(ends, time)
                if here and at < len(ends) and time >= spans[at][1]:
                    parts[spans[at][2]][key].append((time, line))

    def _by_checkpoint(self, waiting: Iterable[int]) -> list[int]:
        naming: dict[str, list[int]] = {}
        left: list[int] = []
        for place in waiting:
            ids = [name for name in self.asked[place].checkpoints if name in self._parts]
            for name in ids:
                naming.setdefault(name, []).append(place)
            if not ids:
                left.append(place)
        first_of: dict[int, int] = {}
        found: dict[int, set[SessionKey]] = {}
        ends: dict[int, int] = {}
        for name, places in naming.items():
            for key, lines in self._parts[name].items():
                for place in places:
                    found.setdefault(place, set()).add(key)
                if lines:
                    high = max(lines)[0]
                    ends |= {place: max(ends.get(place, high), high) for place in places}
                    self._cut(key, lines, places, first_of)
        mine = set(self.owners)
        for place in sorted(found):
            share = self.shares[place]
            share.sessions = tuple(sorted(found[place]))
            share.method = "checkpoint"
            share.problem = "" if place in mine else EMPTY
            first = first_of.get(place)
            if first is not None and place not in mine:
                share.method, share.group, share.shared_with = "shared", first, self.asked[first].iteration
                share.problem = "" if first in mine else EMPTY
            self._end(share, place, ends.get(share.group))
        return left

    def _cut(
        self, key: SessionKey, lines: Sequence[tuple[int, int]], places: Sequence[int], first_of: dict[int, int]
    ) -> None:
        """Give the part of one session to the iterations that name its checkpoint, cut where each made its commit."""
        cuts = self._makers.cuts(key, places, min(lines)[0]) if len(places) > 1 else []
        uncut = [place for place in places if place not in {owner for _, owner in cuts}]
        rest = uncut[0] if uncut else cuts[-1][1]
        for place in uncut[1:]:
            first_of.setdefault(place, uncut[0])
        bounds = [time for time, _ in cuts]
        start: int | None = None
        for end, place in cuts:
            self._take(place, (line for time, line in lines if (start is None or time > start) and time <= end))
            start = end
        self._take(rest, (line for time, line in lines if not bounds or time > bounds[-1]))

    # 2. Commits, 3. sessions, 4. time

    def _by_commit(self, waiting: Iterable[int]) -> list[int]:
        left: list[int] = []
        for place in waiting:
            makers = [(key, made) for key, made in self._makers.of(place).items() if self.sessions[key].lines]
            if not makers:
                left.append(place)
                continue
            share = self.shares[place]
            count = 0
            for key, made in makers:
                start = self._makers.before(key, place, made.time)
                count += self._take(place, self.sessions[key].between(start, made.time))
            share.method, share.sessions = "commit", tuple(key for key, _ in makers)
            share.problem = "" if count else EMPTY
            self._end(share, place, None)
        return left

    def _by_session(self, waiting: Iterable[int]) -> list[int]:
        by_name: dict[str, list[SessionKey]] = {}
        for key, session in self.sessions.items():
            if session.lines:
                by_name.setdefault(key[1], []).append(key)
        ends: dict[str, list[tuple[int, int]]] = {}
        for place, share in enumerate(self.shares):
            self._note_end(place, share, ends)
        left: list[int] = []
        for place in waiting:
            asked = self.asked[place]
            keys = by_name.get(asked.session, []) if asked.session else []
            if not keys or asked.authored is None:
                left.append(place)
                continue
            share = self.shares[place]
            count = 0
            for key in keys:
                before = [end for n, end in ends.get(key[1], ()) if n < place and end < asked.authored]
                start = max(before, default=None)
                count += self._take(place, self.sessions[key].between(start, asked.authored))
            share.method, share.sessions, share.end = "session", tuple(sorted(keys)), asked.authored
            share.problem = "" if count else EMPTY
            self._note_end(place, share, ends)
        return left

    def _note_end(self, place: int, share: Share, ends: dict[str, list[tuple[int, int]]]) -> None:
        """Note when an iteration ended, under the names of its sessions and of the one that its entry names."""
        if share.end is not None:
            for name in {self.asked[place].session, *(name for _, name in share.sessions)}:
                ends.setdefault(name, []).append((place, share.end))

    def _by_totals(self, waiting: Iterable[int]) -> list[int]:
        """Note the iterations of which only a checkpoint's totals are known; it must be that of one iteration alone."""
        naming = Counter(name for asked in self.asked for name in asked.checkpoints)
        left: list[int] = []
        for place in waiting:
            share = self.shares[place]
            share.stated = tuple(n for n in self.asked[place].checkpoints if n in self.stated and naming[n] == 1)
            if share.stated:
                share.method = "checkpoint"
            else:
                left.append(place)
        return left

    def _by_time(self, waiting: Sequence[int]) -> None:
        if not waiting:
            return
        free = sorted(
            (time, line, key)
            for key, session in self.sessions.items()
            for time, line in zip(session.times, session.lines, strict=True)
            if self.owners[line] == NO_ITERATION
        )
        times = [time for time, _, _ in free]
        for place in waiting:
            share, window = self.shares[place], self.asked[place].window
            if window is None:
                share.problem = NO_WINDOW
                continue
            first = 0 if window.start is None else bisect_right(times, window.start)
            inside = [
                one for one in free[first : bisect_right(times, window.end)] if self.owners[one[1]] == NO_ITERATION
            ]
            keys = {key for _, _, key in inside}
            if one := self._one_session(inside):
                self._take(place, (line for _, line, _ in inside))
                share.method, share.sessions = "time", (one,)
                self._end(share, place, inside[-1][0])
            else:
                nothing = NO_TRANSCRIPT if self.asked[place].checkpoints else NOT_COVERED
                share.problem = f"{len(keys)} sessions overlap" if keys else nothing

    def _one_session(self, inside: Collection[tuple[int, int, SessionKey]]) -> SessionKey | None:
        """Return the session that has all of some lines; of several, as of one and its copy, the shortest."""
        lines = {line for _, line, _ in inside}
        having = Counter(key for _, _, key in inside)
        whole = [key for key, count in having.items() if count == len(lines)]
        return min(whole, key=lambda key: (len(self.sessions[key].lines), key), default=None)

    def _end(self, share: Share, place: int, part_end: int | None) -> None:
        """Say when an iteration ended, and which line made its commit."""
        made = max(self._makers.of(place).values(), default=None)
        share.made = made
        share.end = made.time if made else self.asked[place].authored
        if share.end is None:
            share.end = part_end
