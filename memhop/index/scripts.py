"""Character classes for the tokenizer, as the inside of a regular-expression bracket.

`re` knows `\\w` but no scripts and no combining marks, so the ranges are spelt out here. Two splits matter:

- *unspaced* scripts (Han, Kana, Hangul, Thai, Lao, Burmese, Khmer) do not put blanks between words, so a run of
  them has to be cut by other means;
- *marks* (vowel signs, accents that have no composed letter) are no `\\w` to `re`, yet belong to the word: without
  them every Hindi word would fall apart.

Ranges hold assigned and unassigned code points of the block, so a newer Unicode version changes nothing here.
"""

from __future__ import annotations

from typing import Final


def _bracket(ranges: str) -> str:
    """`"41-5a 5f"` becomes the inside of a bracket that matches those code points."""
    parts = []
    for item in ranges.split():
        low, _, high = item.partition("-")
        parts.append(f"\\U{int(low, 16):08x}-\\U{int(high or low, 16):08x}")
    return "".join(parts)


HAN: Final = _bracket("2e80-2fdf 3005-3007 3021-3029 3400-4dbf 4e00-9fff f900-faff 20000-3fffd")

# One run of any of these is cut into characters and bigrams. Iteration and length marks belong to the Kana; the
# middle dot (30fb) separates words. Thai stops before and after the currency sign (0e3f).
_KANA: Final = _bracket("3041-309f 30a1-30fa 30fc-30ff 31f0-31ff 1aff0-1b16f")
_HANGUL: Final = _bracket("1100-11ff 3131-318e a960-a97f ac00-d7ff")
_SOUTH_EAST: Final = _bracket("e01-e3a e40-e4e e50-e59 e81-ebd ec0-edf 1000-1049 1050-109f 1780-17d3 17d7 17dc-17e9")
SYLLABIC: Final = (_KANA, _HANGUL, _SOUTH_EAST)

UNSPACED: Final = HAN + "".join(SYLLABIC)

# Everything of category M outside the unspaced scripts, widened to neighbouring letters to keep the list short.
# Variation selectors are not here but in IGNORABLE.
MARKS: Final = _bracket(
    "300-36f 483-489 591-5bd 5bf 5c1-5c2 5c4-5c5 5c7 610-61a 64b-65f 670 6d6-6dc 6df-6e8 6ea-6ed 711-7f3 7fd 816-82d "
    "859-85b 898-8e1 8e3-963 981-9e3 9fe-a75 a81-ae3 afa-b63 b82-bd7 c00-c63 c81-c83 cbc-d4d d57-d63 d81-df3 f18-f19 "
    "f35 f37 f39 f3e-f84 f86-fbc fc6 135d-135f 1712-1734 1752-1773 180b-180d 180f-193b 1a17-1a1b 1a55-1a7f 1ab0-1b44 "
    "1b6b-1b73 1b80-1bf3 1c24-1c37 1cd0-1cd2 1cd4-1dff 20d0-20f0 2cef-2cf1 2d7f-2dff 302a-302f a66f-a672 a674-a67d "
    "a69e-a6f1 a802-a827 a82c a880-a8c5 a8e0-a8f1 a8ff-a92d a947-a953 a980-a9c0 a9e5-aa4d aa7b-aac1 aaeb-aaef "
    "aaf5-aaf6 abe3-abea abec-abed fb1e fe20-fe2f 101fd-1037a 10a01-10a3f 10ae5-10ae6 10d24-10eac 10f46-10f50 "
    "10f82-10f85 11000-11046 11070-110ba 110c2 11100-11134 11145-11173 11180-111c0 111c9-111cc 111ce-111cf "
    "1122c-11237 1123e 112df-11446 1145e-114c3 115af-115c0 115dc-11640 116ab-116b7 1171d-1172b 1182c-1183a "
    "11930-11943 119d1-119e0 119e4-11a3e 11a47-11a99 11c2f-11c3f 11c92-11ef6 16af0-16af4 16b30-16b36 16f4f-16f92 "
    "16fe4-16ff1 1bc9d-1bc9e 1cf00-1cf46 1d165-1d169 1d16d-1d172 1d17b-1d182 1d185-1d18b 1d1aa-1d1ad 1d242-1d244 "
    "1da00-1da36 1da3b-1da6c 1da75 1da84 1da9b-1e136 1e2ae-1e2ef 1e8d0-1e94a"
)

# Carry no meaning of their own inside a word or an emoji: soft hyphen, zero-width characters, direction marks,
# variation selectors, byte order mark.
IGNORABLE: Final = _bracket("ad 200b-200f 202a-202e 2060-206f fe00-fe0f feff e0001-e007f e0100-e01ef")

# Symbols that mean something by themselves: currency, letterlike, arrows, mathematics, dingbats, emoji.
PICTOGRAPHS: Final = _bracket("a2-a5 20a0-20cf 2100-2bff 1f000-1fbff")
