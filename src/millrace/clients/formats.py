"""The formats that `millrace load` reads."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from lakehouse.errors import MillraceError
from millrace.clients.access_log import AccessLog
from millrace.clients.line_reader import Line, Source
from millrace.clients.log_site import infer_site
from millrace.clients.logs.log_entry import UnreadableLineError
from millrace.clients.logs.log_formats_file import LogFormats, load_log_formats
from millrace.clients.recognize import ACCESS_LOG, SEGMENT, recognize
from millrace.clients.record import Record, key_of
from millrace.clients.rejected import LineReject
from millrace.clients.segment import looks_like_event, segment_records

AUTO = "auto"
Reader = Callable[[Iterable[Line], LineReject], Iterator[Record]]


@dataclass(frozen=True)
class Format:
    """Functions that recognise and read lines of a format.

    Attributes:
        name: `segment` or `access-log`.
        is_one: returns whether a line looks like this format, given lines in order.
        reader: returns the function from lines to records, given the lines read ahead and the site.
        taken_for: what an unnamed format was recognised as; None if the format was named.
    """

    name: str
    is_one: Callable[[bytes], bool]
    reader: Callable[[list[Line], str | None], Reader]
    taken_for: str | None = None


def open_format(name: str, source: Source, conf: Path) -> Format:
    """The format of a file.

    Args:
        name: a key of `FORMATS`, or `auto`: that of the file's first lines.
        source: the file.
        conf: folder of conf/log_formats.yml.

    Raises:
        MillraceError: if the file is binary, or its format is not recognised.
    """
    formats = load_log_formats(conf)
    start = [line.content for line in source.sample]
    taken_for = None
    if name == AUTO:
        recognized = recognize(start, source.name, formats)
        name, taken_for = recognized.format_name, recognized.description
    form = FORMATS[name](formats, taken_for)
    source.refuse_binary(form.is_one, name)
    return form


def require_format(name: str) -> None:
    """Check the name of a format.

    Raises:
        MillraceError: if there is none of this name; the message lists all.
    """
    if name != AUTO and name not in FORMATS:
        known = " or ".join((*FORMATS, "costs", "rates", AUTO))
        raise MillraceError(f"{name} is no known format", f"Use --format {known}")


def _segment(formats: LogFormats, taken_for: str | None) -> Format:
    del formats
    return Format(SEGMENT, looks_like_event, lambda _sample, _site: segment_records, taken_for)


def _access_log(formats: LogFormats, taken_for: str | None) -> Format:
    log = AccessLog(formats)

    def is_one(content: bytes) -> bool:
        with suppress(UnreadableLineError):
            return log.entry(content) is not None
        return False

    def reader(sample: list[Line], site: str | None) -> Reader:
        host = site or infer_site((line.content for line in sample), formats)
        return lambda lines, rejected: _page_events(lines, rejected, AccessLog(formats), host)

    return Format(ACCESS_LOG, is_one, reader, taken_for)


def _page_events(
    lines: Iterable[Line], rejected: LineReject, log: AccessLog, host: str | None
) -> Iterator[Record]:
    for line in lines:
        if not line.content:
            continue
        try:
            event = log.event(line.content, line.number, host)
        except UnreadableLineError as error:
            rejected.add(line.number, str(error), line.content)
        else:
            if event is not None:
                yield Record(key_of(event), event, line.number)


FORMATS = {SEGMENT: _segment, ACCESS_LOG: _access_log}
