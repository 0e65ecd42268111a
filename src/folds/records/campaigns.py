"""Campaign fields that an address carries, as its `utm_…` parameters."""

import re
from urllib.parse import unquote_plus

from folds.records.channels import BLANKS, IN_QUERY

PARAMETERS = {"source": "utm_source", "medium": "utm_medium", "name": "utm_campaign"}
_BROKEN = re.compile("%(?![0-9a-fA-F]{2})")


def value_pattern(parameter: str) -> str:
    """A pattern whose first group is the value of an address's first parameter of that name."""
    return f"{IN_QUERY}{parameter}=([^&#]*)"


def campaign_of(address: str) -> dict[str, str]:
    """The fields of `PARAMETERS` that an address has, decoded; what can't be decoded stays as it is.

    One of blanks alone is none.
    """
    fields = {}
    for field, parameter in PARAMETERS.items():
        found = re.match(value_pattern(parameter), address)
        value = found[1] if found else ""
        value = value if _BROKEN.search(value) else unquote_plus(value)
        if value.strip(BLANKS):
            fields[field] = value
    return fields
