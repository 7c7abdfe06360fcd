"""The text tasks with a model."""

from __future__ import annotations

from memhop.models.material import Answer, Block, CardProposal, Drawn, Group, Said, Statement, Step

__all__ = ["Answer", "Block", "CardProposal", "Drawn", "Group", "Said", "Statement", "Step"]
