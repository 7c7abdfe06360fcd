"""The text tasks without a model: same names, same shapes, deterministic, no socket, no better than their rules.

keywords      a text's telling words and phrases                              offline_keywords
consolidate   neighbouring turns gathered, sentences taken word for word      offline_consolidate
distill       mood, traits and words of a person, by a lexicon and counting   offline_distill
crystallize   sequences of tools that come again and again                    offline_crystallize
"""

from __future__ import annotations

from memhop.models.offline_consolidate import consolidate
from memhop.models.offline_crystallize import crystallize
from memhop.models.offline_distill import distill
from memhop.models.offline_keywords import keywords

__all__ = ["consolidate", "crystallize", "distill", "keywords"]
