"""Many cases, here or on Spark, and what came of them, kept."""
