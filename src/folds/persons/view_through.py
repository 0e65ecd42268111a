"""View-through: touches of impressions that were not clicked, where conf/rules.yml lets them earn credit."""

from collections.abc import Iterable

from folds.persons.records import Touch, View

VIEW = "view"


def view_touches(visits: Iterable[Touch], since: int) -> list[Touch]:
    """The impressions that visits are view-throughs of, as touches; one that leads to several visits once.

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
    return Touch(*at_view, *view[4:14], view.url, view.referrer, None, None, True, visit.rules_version)
