"""Benches: how well memories are found, measured on public data that is never shipped."""
