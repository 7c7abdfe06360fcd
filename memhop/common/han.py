"""Words of Han text: jieba's dictionary and hidden Markov model, loaded at the first cut, silently.

Three habits of the library are kept out:

- It prints to stderr and, compiled by Python 3.12 or later, warns about its own source, which turns the
  import into an error under `-W error`. The dictionary is read here without its `initialize`, which prints.
- It keeps a `marshal` file under a name anyone can guess in the shared temporary directory, and unmarshals
  whatever lies there. The cache would save about 0.3 s per process; it is not used, nothing is written.
- `jieba.dt` belongs to the whole process, so words a host adds to it would change what an index holds. A
  tokenizer of our own is used: the same text is always cut the same way.
"""

from __future__ import annotations

import re
import threading
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import jieba

_LONGEST_RUN = 512
# The characters jieba takes together as one block; it cuts every block on its own, so cutting text between
# blocks beforehand changes nothing. Only a block longer than _LONGEST_RUN is split where jieba would not: its
# Viterbi pass copies the path so far for each character, so a long run of unknown characters is quadratic.
_BLOCK = r"\u4E00-\u9FD5a-zA-Z0-9+#&._%\-"
_PIECE = re.compile(rf"[{_BLOCK}]{{1,{_LONGEST_RUN}}}|[^{_BLOCK}]+")

_loading = threading.Lock()
_tokenizer: jieba.Tokenizer | None = None
_bare = False


def cut(text: str) -> list[str]:
    """Cut `text` into words, in order. Joined, the words are the text again: nothing is dropped or changed.

    Meant for runs of Han characters; Latin words and numbers come out whole, white space and punctuation as
    pieces of their own. Characters past U+9FD5 (rare ideographs) and Kana come out one by one.

    Cost: the first call reads the dictionary (about 0.5 s of CPU and 100 MB); then 2 to 6 us a character,
    linear in the length of the text. Safe to call from several threads.

    >>> cut("我在北京工作")
    ['我', '在', '北京', '工作']
    """
    if _bare:
        return list(text)
    tokenizer = _tokenizer or _load()
    if len(text) <= _LONGEST_RUN:
        return list(tokenizer.cut(text))
    return [word for piece in _PIECE.findall(text) for word in tokenizer.cut(piece)]


def do_without_dictionary() -> None:
    """From now on `cut` gives single characters, and nothing is loaded: for a process that answers one question and has
    no second to spare. Texts are still found by their characters and bigrams. What such a process indexes it must not
    store, for others would not find it by its words: it opens memories for reading alone."""
    global _bare
    _bare = True


def _load() -> jieba.Tokenizer:
    global _tokenizer
    with _loading:
        if _tokenizer is None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                import jieba
                import jieba.finalseg

                tokenizer = jieba.Tokenizer()
                tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
            tokenizer.initialized = True
            _tokenizer = tokenizer
        return _tokenizer
