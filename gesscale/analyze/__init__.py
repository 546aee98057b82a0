"""Pure parts of analysis that policies share: who may be judged, load, capacity."""
