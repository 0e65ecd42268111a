"""Template of the report's pages.

Great Expectations imports this module by its name in the report's configuration.
"""

from great_expectations.render.view.view import DefaultJinjaPageView


class PageView(DefaultJinjaPageView):
    """Renders pages without references to other hosts; template and style are in `site/`."""

    _template = "millrace_page.j2"
