"""One reader's position in a source, with a check that its tables were not recreated."""

from collections.abc import Iterator, Mapping

from lakehouse.errors import MillraceError
from serving.sources.row_changes import ChangeGroup, Position, RowChange
from serving.sources.source import Source


class Cursor:
    """Reads the groups of a source in order.

    Args:
        source: the source.
        position: position after which to begin; None: begin with a snapshot.
        table_ids: by table, its id at the position, or at least the first eight characters; unknown ids are
            missing or empty.
        start: versions of the snapshot to begin with; None: the latest.

    Raises:
        MillraceError: if a table was recreated.
    """

    def __init__(
        self,
        source: Source,
        position: Position | None = None,
        table_ids: Mapping[str, str] | None = None,
        start: Position | None = None,
    ) -> None:
        self._source = source
        self._start = start
        self.position = dict(position or {})
        """Versions by table whose changes have been read; empty before a snapshot."""
        self.table_ids = dict(table_ids or {})
        """Ids of the tables."""
        self._verify()

    def skip(self) -> None:
        """Skip to the latest position, without a snapshot."""
        self.position = dict(self._source.latest(None) or {})

    def poll(self) -> Iterator[ChangeGroup]:
        """Groups since the last poll. Without a new version there are none, and only logs are listed.

        Raises:
            MillraceError: if a table was recreated, or changes can't be read any more.
        """
        known, latest = self.position, self._source.latest(self.position)
        if latest is None or latest == known:
            return
        if lost := [name for name, version in known.items() if version > latest[name]]:
            raise _made_again(f"{lost[0]} has no version {known[lost[0]]}: it")
        if not known and min(latest.values()) < 0:
            return
        self._verify()
        snapshot = self._start or latest
        for group in self._source.between(known, latest) if known else self._snapshot(snapshot):
            self._verify()  # again, since a table may be replaced while its files are read
            self.position = dict(group.position)
            yield group

    def _snapshot(self, position: Position) -> Iterator[ChangeGroup]:
        found = self._source.rows(position)  # reads the files before the tables are checked again
        rows = (RowChange(row, None, row) for part in found.lines() for row in part.split(b"\n"))
        yield ChangeGroup(rows, position, commit=self._source.commit(position))

    def _verify(self) -> None:
        """Check that no table of the position was recreated."""
        for name, found in self._source.identities().items():
            known = self.table_ids.get(name, "")
            if known and not (found and known.startswith(found)):
                raise _made_again(name)
            self.table_ids[name] = known or found


def _made_again(what: str) -> MillraceError:
    return MillraceError(
        f"{what} was made again", "Begin with a snapshot: leave out --from, and remove the file of --resume"
    )
