"""`millrace recover`: resumes a topic that lost records before they were read, or that was recreated."""

import getpass
from typing import Annotated

import typer

from lakehouse.errors import MillraceError
from lakehouse.settings import load_settings
from millrace.commands.release import carry_out


def recover(
    topic: Annotated[str, typer.Argument(help="Kafka topic, as events.")],
    accept_loss: Annotated[
        bool, typer.Option("--accept-loss", help="Skip records that Kafka deleted before they were read.")
    ] = False,
    from_beginning: Annotated[
        bool, typer.Option("--from-beginning", help="Read a topic that was created again from its beginning.")
    ] = False,
    by: Annotated[str, typer.Option(help="Who accepts it; kept in ops.topics.")] = "",
) -> None:
    """Resume a topic that ingest cannot read any further, and record the loss in ops.topics.

    Kafka may have deleted records before they were read (--accept-loss), or the topic was deleted and created
    again (--from-beginning). `millrace audit` reports what is lost.
    """
    from bronze.topics.topic_check import ACCEPT_LOSS, FROM_BEGINNING, require_recoverable
    from millrace.local.requests.engine_commands import RECOVER
    from millrace.tables.topic_state import read_topics

    if accept_loss and from_beginning:
        raise MillraceError(
            "a topic has lost records or was made again, not both", "Give the one option that ingest names"
        )
    option = ACCEPT_LOSS if accept_loss else FROM_BEGINNING if from_beginning else ""
    settings = load_settings()
    if not settings.catalog:  # reported before Spark starts
        troubles = read_topics(settings).troubles
        if require_recoverable(settings.topics, troubles, topic, option) is None:
            typer.echo(f"Nothing is to be recovered: ingest can read {topic} on.")
            return
    carry_out(RECOVER, topic, option, by or getpass.getuser(), then=["ingest"])
