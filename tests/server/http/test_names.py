"""Names of tenants: what is one, and the file it leads to."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memhop.common import errors
from memhop.server.http.names import check_tenant, tenant_of, tenant_path

NO_NAMES: list[object] = [
    "", " ", ".", "..", "a/b", "../x", "..%2fx", "a\\b", "C:\\x", "\\\\srv\\x", "a.meh", "x\0y", "x\n", "x ", "a b",
    "a" * 65, "a" * 5000, "é", "\uff41", "\u0661", "a\u0130", "*", "~", "$HOME", "con", "NUL", "Aux", "prn", "com0",
    "COM1", "lpt9", None, 1, b"a", ["a"],
]  # fmt: skip


@pytest.mark.parametrize("name", NO_NAMES)
def test_what_is_no_name_is_refused_before_a_path_is_made_of_it(name: object, tmp_path: Path) -> None:
    for call in (lambda: check_tenant(name), lambda: tenant_path(tmp_path / "not there", name)):
        with pytest.raises(errors.InvalidRequest) as refused:
            call()
        assert refused.value.field == "tenant"
        assert refused.value.allowed
        assert "srv" not in str(refused.value)
        assert len(str(refused.value)) < 300


@pytest.mark.parametrize("name", ["a", "Alice", "a-b_C9", "-", "_", "con1", "nul_", "a" * 64, "com10"])
def test_names_are_kept_in_lower_case(name: str, tmp_path: Path) -> None:
    """`Alice` and `alice` are one file where case is ignored, so that a token for one opened the other."""
    assert check_tenant(name) == name.lower()
    assert tenant_path(tmp_path, name) == tmp_path.resolve() / f"{name.lower()}.meh"


@given(st.text(max_size=80))
def test_any_text_stays_in_the_folder_or_is_refused(text: str) -> None:
    root = Path("/srv/memories-that-are-not-there")
    try:
        path = tenant_path(root, text)
    except errors.InvalidRequest:
        return
    assert path.parent == root
    assert tenant_of(path) == text.lower()


def test_links_folders_and_pipes_are_refused(tmp_path: Path) -> None:
    outside = tmp_path / "outside.meh"
    outside.write_bytes(b"x")
    root = tmp_path / "root"
    root.mkdir()
    (root / "linked.meh").symlink_to(outside)
    (root / "dangling.meh").symlink_to(tmp_path / "nowhere")
    (root / "folder.meh").mkdir()
    os.mkfifo(root / "pipe.meh")
    (root / "real.meh").write_bytes(b"x")
    for name in ("linked", "dangling", "folder", "pipe"):
        with pytest.raises(errors.InvalidRequest) as refused:
            tenant_path(root, name)
        assert str(tmp_path) not in str(refused.value)
    assert tenant_path(root, "real").exists()


def test_the_folder_itself_may_be_reached_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "root")
    assert tenant_path(tmp_path / "link", "a") == (tmp_path / "root" / "a.meh").resolve()


def test_only_files_of_tenants_are_listed() -> None:
    names = ["alice.meh", "Alice.meh", "nul.meh", "a.meh.lock", "a.b.meh", ".meh", "alice", "x.meh.torn-1"]
    assert [name for name in names if tenant_of(Path(name))] == ["alice.meh"]
