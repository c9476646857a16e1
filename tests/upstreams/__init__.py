"""Upstreams for tests: real HTTP servers in the formats of vendors, with faults on demand."""
