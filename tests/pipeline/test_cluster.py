"""The whole pipeline on a Spark standalone cluster, of which a worker and then the driver are killed."""

from collections.abc import Callable
from pathlib import Path

import pytest

from kit.cluster import running_cluster
from kit.home import JOBS, Home
from kit.processes import Pipeline
from kit.tables import commits, differences

EVENTS = 100_000
BATCH = 25_000


@pytest.mark.long
def test_cluster_run_with_killed_worker_and_killed_driver_equals_local_run(
    new_home: Callable[..., Home], tmp_path: Path
) -> None:
    local = new_home()
    local.must("produce", "--events", str(EVENTS), "--seed", "5")
    with running_cluster(tmp_path, workers=2) as cluster:
        more = {"MILLRACE_SPARK_MASTER": cluster.url, "SPARK_LOCAL_IP": "127.0.0.1"}
        spread = local.twin(tmp_path / "home", **more, MILLRACE_MAX_BATCH_ROWS=str(BATCH))
        with Pipeline(spread) as pipeline:
            pipeline.reaches(lambda: commits(spread, "silver.events") >= 3)
            assert cluster.executors(0)
            assert cluster.executors(1)
            cluster.kill_worker(0)
            pipeline.reaches(lambda: commits(spread, "gold.attribution") >= 3)
        cluster.add_worker()
        with Pipeline(spread) as pipeline:  # the block above has killed its driver
            assert pipeline.ends(2400) == 0, pipeline.reported
    local.must("run", *JOBS, "--once")
    spread.must("audit")
    assert differences(local, spread) == {}
