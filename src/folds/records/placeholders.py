"""Reads ids of visitors and users; placeholders of conf/identities.yml are no ids."""

from functools import lru_cache
from pathlib import Path

from msgspec import Raw
from pydantic import BaseModel, ConfigDict, ValidationError

from folds.records.json_text import text
from lakehouse.bundle_file import parse_yaml
from lakehouse.errors import MillraceError, first_problem

FILE = "identities.yml"


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid")
    placeholders: list[str] = []


def identity(sent: Raw, placeholders: frozenset[str]) -> str | None:
    """An id as text, without white space around it; None if nothing is left, or a placeholder.

    Args:
        sent: any JSON value.
        placeholders: in lower case.
    """
    found = text(sent)
    if not found:
        return None
    found = found.strip()
    return found if found and found.lower() not in placeholders else None


def load_placeholders(conf: Path) -> frozenset[str]:
    """Read conf/identities.yml, in lower case; without the file, every id is one.

    Raises:
        MillraceError: if it is not valid.
    """
    file = conf / FILE
    return _load(file.read_text(encoding="utf-8") if file.is_file() else "")


@lru_cache(maxsize=4)
def _load(document: str) -> frozenset[str]:
    """Cached by text: jobs load it for each micro-batch."""
    try:
        read = _Document.model_validate(parse_yaml(document, FILE) or {})
    except ValidationError as error:
        raise MillraceError(f"{FILE}: {first_problem(error)}", f"Correct {FILE} in conf/") from error
    return frozenset(placeholder.strip().lower() for placeholder in read.placeholders)
