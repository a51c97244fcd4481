"""Spans of days and hours, and days of a time zone's calendar."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

_DAY = timedelta(days=1)
_TICK = timedelta(microseconds=1)


@dataclass(frozen=True)
class Span:
    """A time span of calendar days and of hours.

    A day ends at the same local time of the next day: it has 23 or 25 hours where the clocks are changed. `clock` is
    the rest, such as hours and minutes, which have the same length everywhere.
    """

    days: int = 0
    clock: timedelta = timedelta(0)

    @property
    def length(self) -> timedelta:
        """The length of the span where no clocks are changed."""
        return self.days * _DAY + self.clock

    def after(self, moment: datetime, zone: ZoneInfo, more_days: int = 0) -> datetime:
        """Return the time that lies this span, and `more_days` calendar days of `zone`, after `moment`, in UTC.

        A local time that comes twice is taken the second time, one that the clocks skip as much later as they skip.
        Raises OverflowError for times beyond Python's calendar.
        """
        days = self.days + more_days
        if days:
            local = moment.astimezone(zone).replace(tzinfo=None) + days * _DAY
            moment = max(local.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
        return moment.astimezone(UTC) + self.clock


NO_SPAN = Span()


def end_of(day: date, zone: ZoneInfo) -> datetime:
    """Return the last moment of a calendar day of `zone`, in UTC."""
    midnight = datetime.combine(day + _DAY, time(), zone)  # where the clocks change then, this is the earlier one
    return midnight.astimezone(UTC) - _TICK
