"""The process that watches StreamAutoscalers and steps one loop for each workflow."""
