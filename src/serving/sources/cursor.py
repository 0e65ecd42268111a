"""One reader's place in a source, which is checked to be of the same tables."""

from collections.abc import Iterator, Mapping
from itertools import chain

from lakehouse.errors import MillraceError
from serving.sources.row_changes import ChangeGroup, Position, RowChange
from serving.sources.source import Source


class Cursor:
    """Gives the groups of a source one after the other.

    Args:
        source: what is read.
        position: after which to begin; None: begin with a snapshot.
        table_ids: by table, the id that the position is of, or its first characters; those that are not
            known are left out or empty.

    Raises:
        MillraceError: if a table was made again.
    """

    def __init__(
        self, source: Source, position: Position | None = None, table_ids: Mapping[str, str] | None = None
    ) -> None:
        self._source = source
        self.position = dict(position or {})
        """Versions whose changes are known, by table; empty before a snapshot."""
        self.table_ids = dict(table_ids or {})
        """Ids of the tables."""
        self._verify()

    def skip(self) -> None:
        """Leave out what is there."""
        self.position = dict(self._source.latest(None) or {})

    def poll(self) -> Iterator[ChangeGroup]:
        """Groups since the last poll; none if there is no new version. Then only logs are listed.

        Raises:
            MillraceError: if a table was made again, or changes are gone.
        """
        known, latest = self.position, self._source.latest(self.position)
        if latest is None or latest == known:
            return
        if lost := [name for name, version in known.items() if version > latest[name]]:
            raise _made_again(f"{lost[0]} has no version {known[lost[0]]}: it")
        if not known and min(latest.values()) < 0:
            return
        self._verify()
        for group in self._source.between(known, latest) if known else self._snapshot(latest):
            self._verify()  # again: a table may have been replaced while its files were read
            self.position = dict(group.position)
            yield group

    def _snapshot(self, position: Position) -> Iterator[ChangeGroup]:
        chunks = self._source.rows(position)
        first = next(chunks, ())  # reads the files, before the tables are checked again
        rows = (RowChange(row, None, row) for chunk in chain((first,), chunks) for row in chunk)
        yield ChangeGroup(rows, position, commit=self._source.commit(position))

    def _verify(self) -> None:
        """Check that the tables are still those whose versions are known."""
        for name, found in self._source.identities().items():
            known = self.table_ids.get(name, "")
            if known and not (found and known.startswith(found)):
                raise _made_again(name)
            self.table_ids[name] = known or found


def _made_again(what: str) -> MillraceError:
    return MillraceError(
        f"{what} was made again", "Begin with a snapshot: leave out --from, and remove the file of --resume"
    )
