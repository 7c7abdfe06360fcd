"""ChatGPT, Claude.ai and Claude Code: who said what when, and what nobody said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memhop.common.errors import InvalidRequest
from memhop.common.fence import CLOSE, OPEN
from memhop.readers import chatgpt, claude_ai, claude_code
from memhop.readers.injected import without_injected
from memhop.readers.item import Item
from tests.readers.samples import (
    CHATGPT,
    CLAUDE,
    TRANSCRIPT,
    chat,
    jsonl,
    line,
    messages,
    notes,
    rejected,
    skipped,
    turn,
    zipped,
)


def read_chatgpt(tmp_path: Path, *conversations: object) -> list[Item]:
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps(conversations), "utf-8")
    return list(chatgpt.read(path))


def test_the_branch_shown_last_is_read_and_the_others_are_counted(tmp_path: Path) -> None:
    found = read_chatgpt(tmp_path, *CHATGPT)
    assert [(item.source_id, item.text, item.role, item.session, item.session_title) for item in messages(found)] == [
        ("n1", "I drink oat milk", "user", "c1", "Talk c1"),
        ("n2", "Noted.", "agent", "c1", "Talk c1"),
    ]
    assert [item.at for item in messages(found)] == [1_790_000_001_000] * 2, (
        "no time of its own: that of the one before"
    )
    assert skipped(found) == ["not on the branch that was shown last"]
    assert not rejected(found)


def test_what_is_no_speech_in_chatgpt_is_skipped_with_its_reason(tmp_path: Path) -> None:
    talk = chat(
        "c",
        "k",
        turn("a", "root", "system", "You are helpful"),
        turn("b", "a", "user", "hidden", metadata={"is_visually_hidden_from_conversation": True}),
        turn("c", "b", "user", "weightless", weight=0),
        turn("d", "c", "assistant", "deep", content_type="thoughts"),
        turn("e", "d", "assistant", "print(1)", content_type="code", recipient="python"),
        turn("f", "e", "tool", "1"),
        turn("g", "f", "assistant", "", ""),
        turn("h", "g", "user", "about me", content_type="user_editable_context"),
        turn("k", "h", "user", {"content_type": "image_asset_pointer"}, "see it", content_type="multimodal_text"),
    )
    found = read_chatgpt(tmp_path, talk)
    assert [item.text for item in messages(found)] == ["see it"]
    assert skipped(found) == [
        "a system message", "a hidden message", "a hidden message", "thinking", "a tool call", "a tool result",
        "no text",
        "content of type user_editable_context",
    ]  # fmt: skip


def test_a_broken_message_costs_itself_and_a_broken_conversation_its_own(tmp_path: Path) -> None:
    talk = chat("c", "b", turn("a", "root", "user", 7), turn("b", "a", "user", "still here"))
    found = read_chatgpt(tmp_path, {"mapping": {}}, talk, {"conversation_id": "x", "mapping": [1]}, 5)
    assert [item.text for item in messages(found)] == ["still here"]
    assert [(item.place.partition(": ")[2], item.reason) for item in rejected(found)] == [
        ("conversation 1", "conversation_id is missing"),
        ("conversation 2, message a", "a part is a number, not a text"),
        ("conversation 3", "mapping is a list, not an object"),
        ("conversation 4", "the conversation is a number, not an object"),
    ]
    assert json.loads(rejected(found)[1].raw)["id"] == "a"


def test_trees_that_are_none_end(tmp_path: Path) -> None:
    loop = chat("c", "a", turn("a", "b", "user", "one"), turn("b", "a", "user", "two"))
    orphan = chat("d", "a", turn("a", "gone", "user", "three"))
    leafless = chat("e", None, turn("a", "root", "user", "four"), turn("b", "a", "user", "five"))
    found = read_chatgpt(tmp_path, loop, orphan, leafless)
    assert [item.text for item in messages(found)] == ["two", "one", "three", "four", "five"]
    assert len(rejected(found)) == 2


def test_a_zip_a_folder_and_parts_are_read_alike(tmp_path: Path) -> None:
    first, second = CHATGPT, [chat("c2", "m", turn("m", "root", "user", "second part"))]
    files = {
        "conversations-001.json": json.dumps(second).encode(),
        "conversations-000.json": json.dumps(first).encode(),
        "export_manifest.json": b"{}",
        "shared_conversations.json": b"[]",
        "../../escape/user.json": b"{}",
    }
    (tmp_path / "export.bin").write_bytes(zipped(files))
    folder = tmp_path / "unpacked"
    folder.mkdir()
    for name, data in files.items():
        if "/" not in name:
            (folder / name).write_bytes(data)
    texts = ["I drink oat milk", "Noted.", "second part"]
    for path in (tmp_path / "export.bin", folder):
        found = list(chatgpt.read(path))
        assert [item.text for item in messages(found)] == texts
        assert not rejected(found)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["export.bin", "unpacked"], "nothing is unpacked"


def test_one_conversation_and_lines_of_them_are_read_too(tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    path.write_text(json.dumps(CHATGPT[0], indent=2), "utf-8")
    assert len(messages(chatgpt.read(path))) == 2
    path.write_bytes(jsonl(*CHATGPT, *CHATGPT))
    assert len(messages(chatgpt.read(path))) == 4


def read_claude(tmp_path: Path, data: object) -> list[Item]:
    path = tmp_path / "claude.json"
    path.write_text(json.dumps(data), "utf-8")
    return list(claude_ai.read(path))


def test_claude_texts_attachments_and_blocks(tmp_path: Path) -> None:
    found = read_claude(tmp_path, CLAUDE)
    assert [(item.source_id, item.text, item.role, item.session_title) for item in messages(found)] == [
        ("m1", "Plan Oslo", "user", "Trip"),
        ("m1#1", "list.txt:\nwarm socks", "user", "Trip"),
        ("m2", "Day 1: harbour", "agent", "Trip"),
    ]
    assert messages(found)[0].at == 1_788_256_801_000
    assert skipped(found) == ["no text", "thinking"]
    assert not rejected(found)


def test_claude_memories_and_projects_become_notes_of_the_project(tmp_path: Path) -> None:
    files = {
        "conversations.json": json.dumps(CLAUDE).encode(),
        "memories.json": json.dumps(
            [{"conversations_memory": "Likes snow", "project_memories": {"p1": "Boat is red", "p2": 3}}]
        ).encode(),
        "projects.json": json.dumps(
            [{"uuid": "p1", "name": "Boat", "description": "A boat", "prompt_template": "Be brief",
              "docs": [{"uuid": "d1", "filename": "hull.md", "content": "oak"}, {"content": ""}]}]
        ).encode(),
    }  # fmt: skip
    path = tmp_path / "export.zip"
    path.write_bytes(zipped(files))
    found = list(claude_ai.read(path))
    assert [(item.source_id, item.text, item.project) for item in notes(found)] == [
        ("memory", "Likes snow", "default"),
        ("memory p1", "Boat is red", "Boat"),
        ("p1 description", "A boat", "Boat"),
        ("p1 prompt_template", "Be brief", "Boat"),
        ("d1", "oak", "Boat"),
    ]
    assert [item.reason for item in rejected(found)] == ["the memory is a number, not a text"]
    assert len(messages(found)) == 3


def test_claude_messages_without_blocks_have_their_text(tmp_path: Path) -> None:
    said = [{"uuid": "m", "sender": "human", "text": "only here"}, {"uuid": "n", "sender": "assistant", "text": ""}]
    found = read_claude(tmp_path, [{"uuid": "u", "created_at": "2026-09-01", "chat_messages": said}])
    assert [(item.text, item.at) for item in messages(found)] == [("only here", 1_788_220_800_000)]
    assert skipped(found) == ["no text"]


def test_claude_lines_are_read(tmp_path: Path) -> None:
    path = tmp_path / "conversations.jsonl"
    path.write_bytes(jsonl(*CLAUDE) + b"{broken\n" + jsonl(*CLAUDE))
    found = list(claude_ai.read(path))
    assert len(messages(found)) == 6
    assert [item.place for item in rejected(found)] == ["line 2"]


def test_a_transcript_is_what_both_said(tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    path.write_bytes(TRANSCRIPT)
    found = list(claude_code.read(path))
    assert [(item.source_id, item.text, item.role, item.session, item.project) for item in messages(found)] == [
        ("a", "Use tabs in this repo", "user", "s1", "web"),
        ("c", "OK, tabs.\n\nDone.", "agent", "s1", "web"),
    ], "the lines of one answer are one message"
    assert skipped(found) == ["a line of type summary", "thinking", "a tool call", "a tool result"]


def test_an_endless_answer_is_several_messages_and_takes_linear_time(tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    path.write_bytes(line_bytes("x" * 100, 30_000))
    found = messages(claude_code.read(path))
    assert len(found) == 3
    assert sum(item.text.count("x") for item in found) == 3_000_000
    assert max(len(item.text) for item in found) <= claude_code._MOST_CHARS


def line_bytes(said: str, times: int) -> bytes:
    return jsonl(line("u", "assistant", [{"type": "text", "text": said}], answer="msg_1")) * times


def test_side_chains_meta_lines_and_sub_agents_are_skipped(tmp_path: Path) -> None:
    folder = tmp_path / "projects" / "-home-a-web"
    (folder / "s1" / "subagents").mkdir(parents=True)
    (folder / "s1.jsonl").write_bytes(
        jsonl(
            line("a", "user", "keep"), line("b", "user", "no", isMeta=True), line("c", "user", "no", isSidechain=True)
        )
    )
    (folder / "s1" / "subagents" / "agent-1.jsonl").write_bytes(jsonl(line("d", "user", "no")))
    outside = tmp_path / "outside.jsonl"
    outside.write_bytes(jsonl(line("e", "user", "not of this folder")))
    (folder / "link.jsonl").symlink_to(outside)
    found = list(claude_code.read(tmp_path / "projects"))
    assert [item.text for item in messages(found)] == ["keep"]
    assert sorted(skipped(found)) == ["a file of a sub-agent", "a meta message", "a side chain"]


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("plain", "plain"),
        (" kept as it is \n", " kept as it is \n"),
        ("a <system-reminder>do x</system-reminder> b", "a  b"),
        (f"{OPEN}\n[2026-03-14 18:05] Mara: old words (3f0c52b1a09e77d4)\n{CLOSE}\nand new ones", "and new ones"),
        ("<command-name>/x</command-name>\n<command-args></command-args>", ""),
        ("<local-command-stdout>out</local-command-stdout>", ""),
        ("an <system-reminder> that never ends", "an <system-reminder> that never ends"),
        ("<memory> of ours? no </memory>", "<memory> of ours? no </memory>"),
    ],
)
def test_what_hosts_put_in_is_cut_out(said: str, left: str) -> None:
    assert without_injected(said) == left


def test_a_message_that_is_nothing_but_a_reminder_is_skipped(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(jsonl(line("a", "user", "<system-reminder>x</system-reminder>"), line("b", "user", "said")))
    found = list(claude_code.read(path))
    assert [item.text for item in messages(found)] == ["said"]
    assert skipped(found) == ["no text"]


def test_many_blocks_that_never_close_take_linear_time() -> None:
    text = "<system-reminder> <command-x> " * 200_000
    assert without_injected(text) == text


@pytest.mark.parametrize("reader", [chatgpt, claude_ai, claude_code])
def test_what_is_something_else_is_refused_at_once(reader: object, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text('{"hello": 1}', "utf-8")
    with pytest.raises(InvalidRequest, match="allowed: a C"):
        reader.read(path)  # type: ignore[attr-defined]
