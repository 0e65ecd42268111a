"""Sources of custom dimensions: paths in events, the user agent, columns of the shop's customers."""

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from folds.records.user_agent_traits import TRAITS

AGENT = "user_agent"
CUSTOMERS = "customers"
_PARTS = ("properties", "context", "traits")


def _path(path: str) -> str:
    part, _, name = path.partition(".")
    if part in _PARTS and all(path.split(".")):
        if name:
            return path
    elif (part == AGENT and name in TRAITS) or (part == CUSTOMERS and name):
        return path
    agent = ", ".join(f"{AGENT}.{trait}" for trait in TRAITS)
    raise ValueError(
        f"{path!r} is none of {agent}, nor a path in {', '.join(_PARTS)}, nor a column of {CUSTOMERS}"
    )


def _as_list(paths: object) -> object:
    return [paths] if isinstance(paths, str) else paths


class DimensionRule(BaseModel):
    """Where a dimension's value is, and which value a conversion has.

    Args:
        paths: tried in turn; a column of the shop's customers stands alone.
        level: `session`: of its session's first event; `event`: its own, else that one; `person`: of the
            first of its touches.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    paths: Annotated[
        tuple[Annotated[str, AfterValidator(_path)], ...],
        BeforeValidator(_as_list),
        Field(alias="from", min_length=1),
    ]
    level: Literal["event", "session", "person"] = "event"

    @property
    def column(self) -> str | None:
        """The column of the shop's customers; None if the value is in events."""
        part, _, name = self.paths[0].partition(".")
        return name if part == CUSTOMERS else None

    @model_validator(mode="after")
    def _check_column(self) -> "DimensionRule":
        of_customers = [path for path in self.paths if path.startswith(f"{CUSTOMERS}.")]
        if of_customers and len(self.paths) > 1:
            raise ValueError(f"{of_customers[0]!r} is a column of the shop, and stands alone")
        if of_customers and self.level != "event":
            raise ValueError(f"{of_customers[0]!r} is as of the conversion: its level is event")
        return self
