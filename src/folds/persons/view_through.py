"""View-through: turns impressions without a click into touches, if conf/rules.yml lets them earn credit."""

from collections.abc import Iterable

from folds.persons.records import Touch, View

VIEW = "view"


def view_touches(visits: Iterable[Touch], since: int) -> list[Touch]:
    """Build touches of the view-through impressions of visits, one per impression.

    Args:
        visits: touches in order of time; those with a `view` count.
        since: microseconds since 1970; earlier impressions are left out.
    """
    found: dict[str, Touch] = {}
    for visit in visits:
        if visit.view is not None and visit.view.at >= since:
            found.setdefault(visit.view.event_id, _view_touch(visit, visit.view))
    return list(found.values())


def _view_touch(visit: Touch, view: View) -> Touch:
    at_view = (view.event_id, visit.visitor_id, view.at, VIEW, view.event_id)
    values = visit.custom_dimensions
    fields = (*at_view, *view[4:14], view.url, view.referrer, None, None, True, visit.rules_version)
    return Touch(*fields, custom_dimensions=values)
