"""Let a query count what it hands on, for sinks that do not tell."""

from typing import Any

from gesscale.spark.records import OBSERVATION, OUTPUT_ROWS


def count_output(frame: Any) -> Any:
    """Return the same rows, counted on their way to the sink.

    Kafka's sink tells how many rows it got; files and ``foreachBatch`` do not (``numOutputRows`` is -1).

    Parameters
    ----------
    frame
        What is to be written: a streaming DataFrame.

    Returns
    -------
    DataFrame
        To be written in its place. Spark counts while it writes: no job and no pass over the rows is added.
    """
    from pyspark.sql import functions as f

    return frame.observe(OBSERVATION, f.count(f.lit(1)).alias(OUTPUT_ROWS))
