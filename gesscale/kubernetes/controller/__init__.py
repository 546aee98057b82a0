"""The controller: watches StreamAutoscalers and steps one loop for each workflow."""
