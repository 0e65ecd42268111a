"""Deletes records from Kafka once bronze has them."""

from collections.abc import Mapping
from contextlib import closing

from kafka import KafkaAdminClient, TopicPartition
from kafka.errors import KafkaError

from bronze.kafka_auth import client_options
from bronze.topics.topic_history import Partition
from lakehouse.errors import MillraceError
from lakehouse.settings import Settings


def delete_records(settings: Settings, ends: Mapping[Partition, int]) -> None:
    """Delete the records before some offsets.

    The broker no longer gives them to anybody. It removes their bytes with the segment that they are in.

    Args:
        settings: the settings in force.
        ends: by topic and partition of Kafka, the first offset that stays.

    Raises:
        MillraceError: if the broker refuses, or does not answer.
    """
    wanted = {TopicPartition(*place): end for place, end in ends.items()}
    options = client_options(settings)
    try:
        with closing(KafkaAdminClient(bootstrap_servers=settings.bootstrap, **options)) as admin:
            admin.delete_records(wanted)
    except KafkaError as error:
        raise MillraceError(
            f"Kafka at {settings.bootstrap} does not delete records: {type(error).__name__}",
            "Allow Millrace's login to delete records of the topic, or wait for the topic's retention",
        ) from error
