"""A law of batch times that tests take for the truth."""

from gesscale.policies.gesscale.analysis.law import BatchTimeLaw

TRUE = BatchTimeLaw(fixed_s=0.5, row_s=0.0, even_row_s=0.005, shared_row_s=0.0, driver_trips=5.0, pair_trips=0.0)
