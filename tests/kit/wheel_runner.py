"""Calls entry points of an installed wheel like a Databricks task: `wheel_runner.py HOME CALLS`.

`CALLS` is a JSON list of lists: an entry point and its parameters. All are called in one process with an
active Spark session; parameters are passed in `sys.argv`. Prints the file of each entry point.
"""

import json
import sys
from importlib.metadata import distribution

import lakehouse.run.spark_session
from lakehouse.settings import load_settings
from millrace.environment.jars import spark_jars


def main() -> None:
    home, calls = sys.argv[1], json.loads(sys.argv[2])
    spark = lakehouse.run.spark_session.build_session(load_settings(home=home), spark_jars())
    for name, *parameters in calls:
        (entry,) = [each for each in distribution("millrace").entry_points if each.name == name]
        sys.argv = ["python", *parameters]
        job = entry.load()
        job()
        sys.stdout.write(f"{name} {sys.modules[entry.value.partition(':')[0]].__file__}\n")
    spark.stop()


if __name__ == "__main__":
    main()
