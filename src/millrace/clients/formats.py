"""The formats that `millrace load` reads."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from lakehouse.errors import MillraceError
from millrace.clients.access_log import UnreadableLineError, is_entry, page_event
from millrace.clients.line_reader import Line
from millrace.clients.log_site import infer_site
from millrace.clients.record import Record, key_of
from millrace.clients.rejected import LineReject
from millrace.clients.segment import looks_like_event, segment_records

Reader = Callable[[Iterable[Line], LineReject], Iterator[Record]]


@dataclass(frozen=True)
class Format:
    """Functions that recognise and read lines of a format.

    Attributes:
        is_one: returns whether a line looks like this format.
        reader: returns the function from lines to records, given the lines read ahead and the site.
    """

    is_one: Callable[[bytes], bool]
    reader: Callable[[list[Line], str | None], Reader]


def find_format(name: str) -> Format:
    """The format with this name.

    Raises:
        MillraceError: if it does not exist; the message lists all formats.
    """
    try:
        return FORMATS[name]
    except KeyError:
        raise MillraceError(f"{name} is no known format", f"Use --format {' or '.join(FORMATS)}") from None


def site_of(sample: list[Line], site: str | None) -> str | None:
    """The given site, else the host inferred from the first lines; None if there is none."""
    return site or infer_site(line.content for line in sample)


def _segment_reader(_sample: list[Line], _site: str | None) -> Reader:
    return segment_records


def _access_log_reader(sample: list[Line], site: str | None) -> Reader:
    host = site_of(sample, site)

    def records(lines: Iterable[Line], rejected: LineReject) -> Iterator[Record]:
        for line in lines:
            if not line.content:
                continue
            try:
                event = page_event(line.content, line.number, host)
            except UnreadableLineError as error:
                rejected.add(line.number, str(error), line.content)
            else:
                yield Record(key_of(event), event, line.number)

    return records


FORMATS = {
    "segment": Format(looks_like_event, _segment_reader),
    "access-log": Format(is_entry, _access_log_reader),
}
