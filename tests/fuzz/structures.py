"""Single structures, by hypothesis."""

NAMES = ()


def round_of(name: str, seed: int) -> None: ...
