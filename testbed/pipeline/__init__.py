"""The taxi pipeline: cleans rides, replays them by their timestamps, finds the nearest hot spot."""
