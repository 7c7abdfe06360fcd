"""Which scripts a model reads: found from the vocabulary, whatever kind of tokenizer has it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memhop.models.literacy import WORDS, pieces_of, script_of, scripts_known, share_read

pytest.importorskip("tokenizers")
MINILM = Path(os.environ.get("MEMHOP_MODELS", "")) / "minilm"
LATIN = frozenset({"LATIN"})


@pytest.mark.parametrize(
    ("letter", "script"),
    [("a", "LATIN"), ("ß", "LATIN"), ("д", "CYRILLIC"), ("署", "CJK"), ("の", "HIRAGANA"), ("ー", "KATAKANA"),
     ("배", "HANGUL"), ("\U0001f600", "GRINNING"), ("\ue000", "")],
)  # fmt: skip
def test_the_script_of_a_letter(letter: str, script: str) -> None:
    assert script_of(letter) == script


class TestKnown:
    def test_an_alphabet_is_no_vocabulary(self) -> None:
        latin = [f"w{number}" for number in range(WORDS)]
        han = [chr(0x4E00 + number) for number in range(WORDS - 1)]
        assert scripts_known([*latin, *han]) == {"LATIN"}
        assert scripts_known([*latin, *han, "署"]) == {"LATIN", "CJK"}

    def test_a_small_vocabulary_reads_the_script_it_has_most_of(self) -> None:
        assert scripts_known(["boat", "yacht", "д", "7", "."]) == {"LATIN"}
        assert scripts_known([]) == frozenset()

    def test_signs_before_the_first_letter_do_not_hide_it(self) -> None:
        assert scripts_known(["##署", "▁署", "7署"]) == {"CJK"}


class TestPieces:
    def test_bytes_become_letters(self) -> None:
        """A byte-level vocabulary writes Han as accented Latin letters; taken literally, it had no Han at all."""
        from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        tokenizer.train_from_iterator(["部署部署部署"] * 9, trainers.BpeTrainer(vocab_size=300, show_progress=False))
        assert "部署部署" in pieces_of(tokenizer)
        assert "部署部署" not in tokenizer.get_vocab()
        assert scripts_known(pieces_of(tokenizer)) == {"CJK"}

    def test_without_a_decoder_pieces_are_what_they_are(self) -> None:
        from tokenizers import Tokenizer, models

        assert sorted(pieces_of(Tokenizer(models.WordLevel({"boat": 0, "dog": 1}, unk_token="dog")))) == ["boat", "dog"]


class TestShare:
    @pytest.mark.parametrize("text", ["Where is the boat?", "Grüße aus Łódź", "9:30", "", "\U0001f600", "ＡＢＣ"])
    def test_all(self, text: str) -> None:
        assert share_read(text, LATIN) == 1.0

    @pytest.mark.parametrize("text", ["部署脚本在哪里？", "今日は", "배포", "Привет"])
    def test_nothing(self, text: str) -> None:
        assert share_read(text, LATIN) == 0.0

    def test_a_letter_counts_by_its_bytes(self) -> None:
        assert share_read("abc部", LATIN) == 0.5
        assert share_read("abc 7 部.", LATIN) == 0.5

    def test_a_lone_surrogate(self) -> None:
        assert 0.0 <= share_read("a\ud800", LATIN) <= 1.0


def test_the_static_model_reads_latin_and_cyrillic() -> None:
    pytest.importorskip("wordllama")
    from memhop import LocalEmbedder

    local = LocalEmbedder()
    assert local.reads("Where is the boat?") == local.reads("Где лодка?") == 1.0
    assert local.reads("部署脚本在哪里") == local.reads("배포 스크립트") == local.reads("ボート") == 0.0


@pytest.mark.skipif(not MINILM.is_dir(), reason="$MEMHOP_MODELS has no minilm (memhop models install)")
def test_minilm_reads_latin_alone() -> None:
    from memhop import OnnxEmbedder

    minilm = OnnxEmbedder(MINILM)
    assert minilm.reads("Where is the boat?") == 1.0
    assert minilm.reads("Где лодка?") == minilm.reads("部署脚本在哪里") == 0.0
