"""Models on this machine: what can be installed, and the embedder out of an installed one.

`memhop models` is made of these; a host that keeps its own folder of models calls them with it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from memhop.models.install import (
    MODELS,
    Installed,
    install,
    installed,
    listed,
    models_directory,
    remove,
    size_of,
)

if TYPE_CHECKING:
    from memhop.models.embed_onnx import OnnxEmbedder

__all__ = [
    "MODELS",
    "Installed",
    "install",
    "installed",
    "installed_embedder",
    "listed",
    "models_directory",
    "remove",
    "size_of",
]


def installed_embedder(name: str, directory: Path) -> OnnxEmbedder:
    """The embedder of an installed model.

    Raises:
        InvalidRequest: no such model. ConfigError: it is not installed, or the extra `onnx` is not.
    """
    from memhop.models.embed_onnx import OnnxEmbedder

    return OnnxEmbedder(installed(name, directory))
