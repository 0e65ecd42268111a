"""The job `erase` on tables in a catalog: it erases, searches the tables and signs a certificate."""

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from kit.pipeline import run_jobs
from kit.planted import shop
from kit.records import Bronze, message, record
from kit.spark import catalog_in, empty_home, forget_tables
from lakehouse.contracts import TABLES
from lakehouse.errors import MillraceError
from lakehouse.run.job import JobContext
from lakehouse.settings import Settings
from millrace.operations import caught_up
from millrace.operations.entry_points import erase
from millrace.operations.privacy_proof import verify_proof
from millrace.operations.privacy_search import person_of
from privacy.requests.register import Register
from privacy.search import catalog_search
from privacy.search.catalog_search import search_catalog
from privacy.search.home_search import SearchResult

pytestmark = pytest.mark.long

VISITORS = 4


@pytest.fixture(scope="module")
def bronze(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bronze]:
    """A catalog with published orders, whose files are not in the home. Each test erases one visitor."""
    folder = tmp_path_factory.mktemp("catalog")
    home = empty_home(spark, folder / "tables")
    catalog = catalog_in(spark, home).model_copy(update={"home": folder / "home"})
    found = Bronze(spark, catalog)
    found.commit(shop(1, visitors=VISITORS))
    run_jobs(spark, catalog)
    yield found
    forget_tables(spark)


@pytest.fixture(scope="module")
def settings(bronze: Bronze) -> Settings:
    return bronze.settings


def visitors(spark: SparkSession) -> list[str]:
    return [row.visitor_id for row in spark.sql("SELECT DISTINCT visitor_id FROM silver.events").collect()]


def run(spark: SparkSession, settings: Settings, **parameters: str) -> None:
    erase.body(JobContext(erase.name, spark.newSession(), settings, once=True, parameters=parameters))


def search(spark: SparkSession, *texts: str) -> SearchResult:
    result = SearchResult()
    search_catalog(spark, "spark_catalog", TABLES, texts, result)
    return result


def test_person_of_a_request_is_erased_and_certified(spark: SparkSession, settings: Settings) -> None:
    gone, *others = visitors(spark)
    now = datetime.now(timezone.utc)
    identities = person_of(settings, [], [gone]).identities
    number = Register(settings.home).open(identities, "letter", now, timedelta(days=30)).id
    texts = [each.value for each in identities]
    assert {place.file.split("/")[0] for place in search(spark, *texts).places} >= {
        "bronze.kafka_records",
        "silver.events",
        "gold.touches",
    }
    revised = "SELECT count_if(pane = 'on_time' AND revision > 0) FROM gold.traffic"
    before = spark.sql(revised).first()
    run(spark, settings, request=number)
    assert search(spark, *texts).places == []
    assert spark.sql(revised).first() > before == (0,)
    assert spark.sql("SELECT count_if(pane = 'late') FROM gold.traffic").first() == (0,), "no event was late"
    assert sorted(visitors(spark)) == sorted(others)
    assert search(spark, others[0]).places != []
    request = Register(settings.home).find(number)
    assert request.state == "proven"
    (certificate,) = settings.home.glob(f"privacy/certificates/{number}-*.json")
    says = verify_proof(settings, certificate, None)
    assert says["found"] == says["not_searched"] == []
    assert says["erasure"]["versions"]["silver.events"][1] > 0
    assert says["searched"]["files"] > len(TABLES)


def test_nobody_to_erase_is_an_error(spark: SparkSession, settings: Settings) -> None:
    with pytest.raises(MillraceError, match="nobody to erase"):
        run(spark, settings)


def test_rows_are_searched_where_the_catalog_gives_nobody_its_files(
    spark: SparkSession, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PySparkException("PERMISSION_DENIED")

    visitor = visitors(spark)[0]
    by_file = search(spark, visitor)
    monkeypatch.setattr(catalog_search, "_listed", refuse)
    by_rows = search(spark, visitor)
    assert by_rows.files == 0
    assert by_rows.rows["silver.events"] == spark.table("silver.events").count()
    found = {(place.file, place.part) for place in by_rows.places}
    assert ("silver.events", "column visitor_id") in found
    assert ("bronze.kafka_records", "column value") in found
    assert {file for file, _ in found} <= {place.file.split("/")[0] for place in by_file.places}


def test_job_that_ran_meanwhile_ends_the_erasure_and_all_steps_are_due_again(
    spark: SparkSession, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches = iter(([7, 7, 7], [8, 7, 7]))
    monkeypatch.setattr("millrace.operations.erase.last_batches", lambda _: next(batches))
    gone = visitors(spark)[0]
    with pytest.raises(MillraceError, match="have run during the erasure"):
        run(spark, settings, visitor=gone)
    request = Register(settings.home).requests()[-1]
    assert (request.state, request.steps) == ("erasing", frozenset())
    monkeypatch.setattr("millrace.operations.erase.last_batches", caught_up.last_batches)
    run(spark, settings, request=request.id)
    assert gone not in visitors(spark)


def test_events_that_have_arrived_and_are_not_in_silver_yet_are_erased_too(
    spark: SparkSession, bronze: Bronze, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone, other, *_ = visitors(spark)
    at = bronze.stored[-1].ingested_at + timedelta(milliseconds=500)
    sent = [record(message(f"last-{each}", each, at=at), timestamp=at) for each in (gone, other)]
    bronze.commit(sent)
    with monkeypatch.context() as patch:
        patch.setattr("millrace.operations.erase.catch_up", lambda _: None)
        with pytest.raises(MillraceError, match="found"):  # the record in bronze, until refine processes it
            run(spark, settings, visitor=gone)
    run_jobs(spark, settings)
    assert gone not in visitors(spark)
    events = spark.table("silver.events").where("event_id LIKE 'last-%'")
    assert [row.visitor_id for row in events.collect()] == [other]
