"""Delivers the events of a request with the semantics of its source."""

import asyncio
import time
from collections.abc import Sequence

from intake.admission import Admission, Decision
from intake.direct_sender import DirectSender
from intake.log.entries import Tally, Write
from intake.log.message_log import MessageLog, OverloadedError
from intake.segment_requests import Message
from intake.sources import Semantics, Source


class Delivery:
    """Takes events as long as there is room for them.

    Args:
        log: keeps events until Kafka has them.
        direct: sends events of sources without a log to Kafka.
        admission: decides which events are taken.
    """

    def __init__(self, log: MessageLog, direct: DirectSender, admission: Admission) -> None:
        self._log = log
        self._direct = direct
        self._admission = admission

    async def deliver(
        self,
        source: Source,
        receipt: str,
        messages: Sequence[Message],
        promise: str | None = None,
        *,
        has_reserve: bool = True,
    ) -> Decision:
        """Take or shed events. Returns once they are as durable as the source's settings require.

        Args:
            source: the sender.
            receipt: id of the request.
            messages: events of the request.
            promise: the source sends no more events before this RFC 3339 time, or `end`.
            has_reserve: whether any source is protected.

        Returns:
            TAKE or SHED.

        Raises:
            OverloadedError: if the events are refused.
            UnavailableError: if the log can't be written, or Kafka does not take the events.
        """
        decision = self._admission.decide(
            source, len(messages), self._log.load, time.monotonic(), has_reserve=has_reserve
        )
        try:
            if decision is Decision.REFUSE:
                raise OverloadedError
            await self._take(source, receipt, messages, promise, is_shed=decision is Decision.SHED)
        except OverloadedError:
            self._log.count(source.name, Tally(refused=len(messages)))
            raise
        return decision

    async def _take(
        self, source: Source, receipt: str, messages: Sequence[Message], promise: str | None, is_shed: bool
    ) -> None:
        if source.is_logged:
            await self._append(Write(receipt, source.name, messages, is_shed, None if is_shed else promise))
        elif source.delivery is Semantics.AT_MOST_ONCE:
            self._direct.send_once(source.name, receipt, messages)
        elif messages:  # else it is a promise without events
            sent = self._direct.send_acknowledged(source.name, receipt, messages)
            await asyncio.shield(asyncio.wrap_future(sent))
        if promise is not None and (is_shed or not source.is_logged):
            await self._append(Write(receipt, source.name, promise=promise))

    async def _append(self, write: Write) -> None:
        await asyncio.shield(asyncio.wrap_future(self._log.append(write)))
