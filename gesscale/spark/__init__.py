"""API for PySpark streaming jobs: one call before the query starts, and on Kubernetes one before the session.

    builder = gesscale.spark.place(SparkSession.builder, autoscaler="taxi")
    builder = gesscale.spark.warm_new_executors(builder)  # optional: no batch waits for a cold executor
    spark = builder.getOrCreate()
    gesscale.spark.attach(spark, operator="nearest", port=9108, cap_rows=12000, trigger_s=2.0)

The driver then serves ``/metrics`` (Prometheus text), ``/batches`` (JSON for the scaler) and ``/replicas``. Executors
join and leave on the nodes that the StreamAutoscaler orders. The query never fails because of gesscale.

File sinks and ``foreachBatch`` do not report their rows; ``gesscale.spark.count_output(rows)`` counts them.
"""

from gesscale.spark.attachment import Attachment, attach
from gesscale.spark.records import count_output
from gesscale.spark.session_setup import place
from gesscale.spark.warm_up import warm_new_executors

__all__ = ["Attachment", "attach", "count_output", "place", "warm_new_executors"]
