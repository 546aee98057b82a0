"""What a user adds to a PySpark streaming job: a line before the query starts, on Kubernetes one before the session.

    builder = gesscale.spark.place(SparkSession.builder, autoscaler="taxi")
    builder = gesscale.spark.warm_new_executors(builder)  # optional: no batch waits for a cold executor
    spark = builder.getOrCreate()
    gesscale.spark.attach(spark, operator="nearest", port=9108, cap_rows=12000, trigger_s=2.0)

From then on the driver serves ``/metrics`` (Prometheus text), ``/batches`` (JSON, what Monitor reads) and
``/replicas``. Executors join and leave where the StreamAutoscaler orders it. The query never fails because of it.

Sinks of files and ``foreachBatch`` do not count what they write; ``gesscale.spark.count_output(rows)`` does.
"""

from gesscale.spark.attachment import Attachment, attach
from gesscale.spark.placing import place
from gesscale.spark.records import count_output
from gesscale.spark.warm_up import warm_new_executors

__all__ = ["Attachment", "attach", "count_output", "place", "warm_new_executors"]
