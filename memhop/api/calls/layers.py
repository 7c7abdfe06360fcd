"""The namespaces of the layers, each made when it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memhop.api.calls.handle import Handle

if TYPE_CHECKING:
    from memhop.api.archive import Archive
    from memhop.api.capabilities import Capabilities
    from memhop.api.facts import Facts
    from memhop.api.knowledge import Knowledge
    from memhop.api.notes import Notes
    from memhop.api.profile import Profiles
    from memhop.api.projects import Projects
    from memhop.api.scenes import Scenes
    from memhop.api.summary import Summaries
    from memhop.api.topics import Topics
    from memhop.api.trajectory import Trajectory


class Layers(Handle):
    """L0 to L7 by name."""

    @property
    def archive(self) -> Archive:
        """L4 messages."""
        from memhop.api.archive import Archive

        return Archive(self._usable())

    @property
    def notes(self) -> Notes:
        """L4 notes."""
        from memhop.api.notes import Notes

        return Notes(self._usable())

    @property
    def scenes(self) -> Scenes:
        """L2 scenes."""
        from memhop.api.scenes import Scenes

        return Scenes(self._usable())

    @property
    def topics(self) -> Topics:
        """L2 topics."""
        from memhop.api.topics import Topics

        return Topics(self._usable())

    @property
    def profile(self) -> Profiles:
        """L0 profile."""
        from memhop.api.profile import Profiles

        return Profiles(self._usable())

    @property
    def knowledge(self) -> Knowledge:
        """L3 knowledge: graphs, nodes, edges."""
        from memhop.api.knowledge import Knowledge

        return Knowledge(self._usable())

    @property
    def facts(self) -> Facts:
        """L3 dated facts."""
        from memhop.api.facts import Facts

        return Facts(self._usable())

    @property
    def capabilities(self) -> Capabilities:
        """L5 capability cards."""
        from memhop.api.capabilities import Capabilities

        return Capabilities(self._usable())

    @property
    def trajectory(self) -> Trajectory:
        """L7 trajectory."""
        from memhop.api.trajectory import Trajectory

        return Trajectory(self._usable())

    @property
    def projects(self) -> Projects:
        """The projects that notes, messages and scenes belong to."""
        from memhop.api.projects import Projects

        return Projects(self._usable())

    @property
    def summary(self) -> Summaries:
        """Progressive summaries of projects."""
        from memhop.api.summary import Summaries

        return Summaries(self._usable())
