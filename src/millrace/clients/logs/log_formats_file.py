"""conf/log_formats.yml: where JSON logs have their values, and the formats that `load` does not read."""

import re
from functools import cached_property
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from lakehouse.bundle_file import read_yaml
from lakehouse.errors import MillraceError

FILE = "log_formats.yml"


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class JsonFields(_Entry):
    """Paths of values in the objects of a JSON log: the first that is there counts.

    A path has dots between keys; a key that has dots itself is sought first.

    Attributes:
        request: a whole request line, `GET / HTTP/1.1`, where there are no `method` and `target`.
        target: path, with or without its query, or a whole URL.
        tls: anything but empty text means https.
    """

    address: list[str]
    forwarded: list[str] = []
    time: list[str]
    request: list[str] = []
    method: list[str] = []
    target: list[str] = []
    query: list[str] = []
    host: list[str] = []
    scheme: list[str] = []
    tls: list[str] = []
    status: list[str] = []
    size: list[str] = []
    referrer: list[str] = []
    agent: list[str] = []
    user: list[str] = []


class LookAlike(_Entry):
    """A format that is not read.

    Attributes:
        name: with its article, as `an error log of nginx`.
        pattern: regular expression for the start of a line.
        hint: what to do instead.
    """

    name: str
    pattern: str
    hint: str

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self.pattern)

    def matches(self, text: str) -> bool:
        """Whether a line looks like it."""
        return self._compiled.match(text) is not None


class LogFormats(_Entry):
    """The file's content."""

    json_logs: dict[str, JsonFields] = Field(default_factory=dict)
    not_read: list[LookAlike] = Field(default_factory=list)

    def look_alike(self, text: str) -> LookAlike | None:
        """The format that a line looks like and that is not read; None if it looks like none."""
        return next((each for each in self.not_read if each.matches(text)), None)


def load_log_formats(conf: Path) -> LogFormats:
    """Read conf/log_formats.yml; nothing if there is no such file.

    Raises:
        MillraceError: if it is not valid.
    """
    file = conf / FILE
    if not file.is_file():
        return LogFormats()
    try:
        formats = LogFormats.model_validate(read_yaml(file))
        for each in formats.not_read:
            re.compile(each.pattern)
    except (ValidationError, re.error) as error:
        problem = _first_problem(error)
        raise MillraceError(f"{file} is not valid: {problem}", "Correct the file") from None
    return formats


def _first_problem(error: ValidationError | re.error) -> str:
    if isinstance(error, re.error):
        return f"{error.pattern!r} is no regular expression: {error.msg}"
    first = error.errors()[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
