"""Slow, obvious second implementations, written from the design pages, to compare the engine with."""
