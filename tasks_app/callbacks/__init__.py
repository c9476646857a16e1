"""Callbacks: Darkroom telling callers, signed, at least once, and nobody inside the network."""
