"""The taxi pipeline: clean rides, replay them by their timestamps, find the nearest hot spot."""
