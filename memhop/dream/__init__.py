"""Consolidation: what a memory does with what it holds while nobody asks.

stage      what a stage is: it plans changes, and never writes
keywords   stage: keywords of turns by a model
...
"""
