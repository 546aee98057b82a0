"""What results say: intervals over the seeds, summaries, comparisons with a baseline."""
