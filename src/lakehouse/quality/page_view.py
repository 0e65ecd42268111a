"""How a page of the report looks: a frame of our own around what Great Expectations has to say.

The library imports this module, by its name in the report's configuration.
"""

from great_expectations.render.view.view import DefaultJinjaPageView


class PageView(DefaultJinjaPageView):
    """A page that asks no other host for anything; its template and style are in `site/`."""

    _template = "millrace_page.j2"
