"""What people say they are, by the five axes of personality (Goldberg's "Big Five"), English and Chinese. Data only.

Only plain self-descriptions ("I am shy"), set by hand; "+" is the upper end of an axis, "-" the lower. Words that a
mood explains as well ("sad", "calm today") are left to `lexicon_mood`.
"""

from __future__ import annotations

from typing import Final

_TABLE: Final = """
openness          +: curious imaginative creative adventurous artistic inventive open-minded inquisitive experimental
openness          +: 好奇 有想象力 爱冒险 有创意 思想开放 爱尝试新事物 喜欢尝试新事物 求知欲强
openness          -: conventional old-fashioned traditional unadventurous unimaginative conservative
openness          -: 保守 传统 守旧 墨守成规 不喜欢变化
conscientiousness +: organized organised disciplined punctual meticulous thorough diligent hardworking tidy
conscientiousness +: 自律 有条理 守时 认真 勤奋 细心 细致 严谨 做事有计划
conscientiousness -: disorganized disorganised messy lazy careless forgetful procrastinator unpunctual sloppy
conscientiousness -: 懒 懒散 粗心 马虎 健忘 拖延 邋遢 没条理 丢三落四
extraversion      +: outgoing extrovert extroverted extraverted sociable talkative gregarious chatty
extraversion      +: 外向 健谈 爱交朋友 喜欢热闹 善于交际 爱说话 活泼
extraversion      -: shy introvert introverted reserved quiet withdrawn loner
extraversion      -: 内向 害羞 腼腆 不爱说话 喜欢独处 社恐 沉默寡言
agreeableness     +: kind patient forgiving trusting empathetic compassionate cooperative easygoing easy-going
agreeableness     +: 善良 体贴 有耐心 宽容 随和 乐于助人 好说话 富有同情心
agreeableness     -: stubborn impatient argumentative critical suspicious selfish competitive blunt
agreeableness     -: 固执 没耐心 多疑 自私 挑剔 爱争论 刻薄
neuroticism       +: moody sensitive insecure worrier neurotic perfectionist self-conscious high-strung
neuroticism       +: 敏感 情绪化 多愁善感 爱操心 玻璃心 容易焦虑 容易紧张 神经质
neuroticism       -: even-tempered unflappable easy-tempered level-headed resilient steady
neuroticism       -: 沉稳 情绪稳定 处变不惊 心态好 想得开 抗压能力强
"""


def _read() -> tuple[dict[str, tuple[str, int]], dict[str, tuple[str, int]]]:
    english: dict[str, tuple[str, int]] = {}
    chinese: dict[str, tuple[str, int]] = {}
    for line in _TABLE.strip().splitlines():
        head, _, words = line.partition(":")
        axis, sign = head.split()
        for word in words.split():
            (english if word.isascii() else chinese)[word] = (axis, 1 if sign == "+" else -1)
    return english, chinese


ENGLISH, CHINESE = _read()
AXES: Final = tuple(sorted({axis for axis, _ in ENGLISH.values()}))
