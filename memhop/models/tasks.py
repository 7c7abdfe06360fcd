"""The text tasks with a model: same names and, within `Answer`, same results as `offline`.

Each asks a question whose untrusted part is fenced (`fence`) and whose answer has a bounded shape (`structured`), and
keeps of the answer what passes every check; what does not is counted in `Answer.refused` by reason, item by item. No
field of any answer deletes, merges notes or messages, names an id that was not shown, or switches something on.

    keywords      task_keywords       words that are in the text
    consolidate   task_consolidate    statements borne out by the messages they cite
    distill       task_distill        lines with evidence
    crystallize   task_crystallize    cards of tools that the session used
"""

from __future__ import annotations

from memhop.models.material import Answer, Block, CardProposal, Drawn, Group, Said, Statement, Step
from memhop.models.task_consolidate import consolidate
from memhop.models.task_crystallize import crystallize
from memhop.models.task_distill import distill
from memhop.models.task_keywords import keywords

__all__ = [
    "Answer", "Block", "CardProposal", "Drawn", "Group", "Said", "Statement", "Step",
    "consolidate", "crystallize", "distill", "keywords",
]  # fmt: skip
