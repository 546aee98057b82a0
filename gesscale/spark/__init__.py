"""What a user adds to a PySpark streaming job: one line before the query starts.

    gesscale.spark.attach(spark, operator="nearest", port=9108, cap_rows=12000, trigger_s=2.0)

From then on the driver serves ``/metrics`` (Prometheus text), ``/batches`` (JSON, what Monitor reads) and
``/replicas``. The query never fails because of it.
"""

from gesscale.spark.attachment import Attachment, attach

__all__ = ["Attachment", "attach"]
