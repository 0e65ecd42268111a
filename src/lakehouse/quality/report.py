"""Validates with Great Expectations, and writes its report as HTML pages.

The library is imported only here and on first use, since that takes many seconds. It stores counts; values of
rows are neither stored nor shown.
"""

import json
import logging
import os
import shutil
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame

from lakehouse.quality.data_docs import ReportPage, write_index
from lakehouse.quality.evaluation import Result
from lakehouse.quality.gx_expectations import results_of, translate
from lakehouse.quality.history import History
from lakehouse.quality.suites import Expectation

KEPT = 20
"""Number of runs in the report; results of older runs are removed."""

_QUIET = {"GX_ANALYTICS_ENABLED": "false", "TQDM_DISABLE": "1"}
_COUNTS_ONLY = {"result_format": "SUMMARY", "partial_unexpected_count": 0}
_SITE = "report"
_LOOKS = Path(__file__).parent / "site"
_VIEW = {"module_name": "lakehouse.quality.page_view", "class_name": "PageView"}
_SECTIONS = {"validations": {"view": _VIEW}, "expectations": "none", "profiling": "none"}


class Report:
    """Validates frames with Great Expectations, and keeps a report of the latest runs.

    Args:
        home: the library's folder; the pages are in its subfolder `report`.
    """

    def __init__(self, home: Path) -> None:
        self._home = home
        home.mkdir(parents=True, exist_ok=True)

    @property
    def page(self) -> Path:
        """The first page."""
        return self._home / _SITE / "index.html"

    def validate(
        self,
        frames: Mapping[str, tuple[DataFrame, tuple[Expectation, ...]]],
        run: str,
        parameters: Mapping[str, Any],
        history: History,
    ) -> list[Result]:
        """Validate frames, and write the report.

        Args:
            frames: by suite, its rows and its expectations.
            run: a name for this run.
            parameters: values of `$PARAMETER` in expectations, by name.
            history: the shop's own, which expectations with a margin are compared with.

        Returns:
            The results, decided as the gate decides.
        """
        with _quiet_library() as gx:
            context = gx.get_context(mode="file", project_root_dir=self._home)
            context.enable_analytics(False)
            self._prune(len(frames))
            found = []
            for name, (frame, expectations) in frames.items():
                checkpoint = self._checkpoint(gx, context, name, expectations)
                identifier = gx.RunIdentifier(run_name=run)
                outcome = checkpoint.run(
                    batch_parameters={"dataframe": frame},
                    expectation_parameters=dict(parameters),
                    run_id=identifier,
                )
                for key, validated in outcome.run_results.items():
                    found += results_of(validated, expectations, history)
                    context.validation_results_store.set(key, validated)
            self._build(context)
            return found

    def _checkpoint(self, gx: Any, context: Any, name: str, expectations: Iterable[Expectation]) -> Any:
        source = context.data_sources.add_or_update_spark(name)
        asset = source.add_dataframe_asset(name)
        batch = asset.add_batch_definition_whole_dataframe("rows")
        suite = gx.ExpectationSuite(name, expectations=[translate(gx, each) for each in expectations])
        context.suites.add_or_update(suite)
        validation = gx.ValidationDefinition(name=name, data=batch, suite=suite)
        context.validation_definitions.add_or_update(validation)
        checkpoint = gx.Checkpoint(
            name=name, validation_definitions=[validation], result_format=dict(_COUNTS_ONLY)
        )
        return context.checkpoints.add_or_update(checkpoint)

    def _build(self, context: Any) -> None:
        looks = Path(context.plugins_directory) / "custom_data_docs"
        shutil.copytree(_LOOKS, looks, dirs_exist_ok=True)
        store = {"class_name": "TupleFilesystemStoreBackend", "base_directory": str(self._home / _SITE)}
        site = {
            "class_name": "SiteBuilder",
            "show_how_to_buttons": False,
            "site_index_builder": {"class_name": "DefaultSiteIndexBuilder"},
            "site_section_builders": _SECTIONS,
            "store_backend": store,
        }
        known = context.get_site_names()
        (context.update_data_docs_site if _SITE in known else context.add_data_docs_site)(_SITE, site)
        shutil.rmtree(self._home / _SITE, ignore_errors=True)
        context.build_data_docs(site_names=[_SITE])
        shutil.rmtree(self._home / _SITE / "static", ignore_errors=True)
        style = (_LOOKS / "styles" / "data_docs_custom_styles.css").read_text(encoding="utf-8")
        write_index(self._home / _SITE, self._report_pages(), style)

    def _report_pages(self) -> Iterator[ReportPage]:
        """Results of all kept runs, with their pages."""
        pages = self._home / _SITE
        kept = self._home / "gx" / "uncommitted" / "validations"
        for page in pages.glob("validations/**/*.html"):
            validation = kept / page.relative_to(pages / "validations").with_suffix(".json")
            if validation.is_file():
                found = json.loads(validation.read_text(encoding="utf-8"))
                yield ReportPage.read(found, str(page.relative_to(pages)))

    def _prune(self, suites: int) -> None:
        """Remove results of all but the latest runs. A file has the result of one suite in one run."""
        kept = (self._home / "gx" / "uncommitted" / "validations").rglob("*.json")
        by_age = sorted(kept, key=lambda each: each.stat().st_mtime)
        for file in by_age[: max(len(by_age) - (KEPT - 1) * suites, 0)]:
            file.unlink()


@contextmanager
def _quiet_library() -> Iterator[Any]:
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with _main_with_a_file():
            import great_expectations as gx

        logging.getLogger("great_expectations").setLevel(logging.ERROR)
        yield gx


@contextmanager
def _main_with_a_file() -> Iterator[None]:
    """Set `__file__` of the main module while PySpark's client is imported, which exits without it."""
    main = sys.modules["__main__"]
    lacks = not hasattr(main, "__file__")
    if lacks:
        main.__file__ = ""
    try:
        yield
    finally:
        if lacks:
            del main.__file__
