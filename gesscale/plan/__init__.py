"""Pure parts of planning that policies share: where to add and remove, settling, repairing."""
