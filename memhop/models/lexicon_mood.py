"""Words of feeling, English and Chinese, with valence, arousal and dominance. Data only.

Each class has three numbers in [-1, 1], in the order of Mehrabian & Russell's axes: how pleasant (valence), how stirred
up (arousal), how much in control (dominance). They were set by hand for the class as a whole; to a tenth is all the
precision there is. No data set was used. Words that are as often said of things as felt ("hot", "cool", "fine",
"sick") and plain praise of others ("nice", "good") are left out on purpose.
"""

from __future__ import annotations

from typing import Final

# valence, arousal, dominance: words
_ENGLISH: Final = """
 0.8  0.4  0.4: happy glad joyful joy cheerful happiness happily pleased merry
 0.9  0.8  0.5: thrilled ecstatic overjoyed elated exhilarated euphoric
 0.7  0.8  0.4: excited exciting excitement enthusiastic eager psyched pumped
 0.8  0.3  0.3: love loved lovely adore adored cherish affection fond beloved
 0.7 -0.6  0.4: calm peaceful relaxed relaxing serene tranquil soothing restful cozy
 0.6 -0.2  0.3: contented satisfied comfortable fulfilled fulfilling satisfying
 0.7  0.1  0.1: grateful thankful gratitude appreciate appreciated blessed
 0.6  0.5  0.8: proud confident triumphant accomplished determined empowered empowering
 0.6  0.2  0.3: hopeful optimistic hope encouraged encouraging inspired inspiring reassured
 0.7  0.5  0.4: fun enjoy enjoyed enjoying enjoyable delighted delightful amused playful hilarious
 0.6  0.6  0.0: amazed amazing awesome wonderful fantastic magical stunned awe
 0.4 -0.3  0.2: relieved relief
-0.7 -0.4 -0.5: sad sadness unhappy sorrow gloomy miserable tearful crying cried heartbroken grief grieving mourning
-0.8 -0.4 -0.7: depressed depressing hopeless despair worthless helpless devastated defeated
-0.6 -0.4 -0.5: lonely loneliness isolated homesick abandoned rejected unwanted
-0.6  0.6 -0.5: anxious anxiety nervous worried worry worrying uneasy restless apprehensive
-0.7  0.8 -0.7: afraid scared terrified frightened fear fearful panic panicked dread horrified
-0.6  0.7 -0.5: stressed stress stressful overwhelmed overwhelming pressured frantic swamped
-0.7  0.8  0.2: angry anger furious mad rage outraged enraged livid
-0.6  0.5  0.0: annoyed annoying irritated irritating frustrated frustrating frustration resentful fed-up bothered
-0.7  0.5  0.2: hate hated disgusted disgusting loathe despise awful horrible terrible dreadful
-0.6  0.2 -0.5: ashamed embarrassed embarrassing humiliated guilty guilt regret regretful
-0.6  0.0 -0.4: disappointed disappointing disappointment discouraged letdown dissatisfied
-0.5  0.3 -0.4: hurt hurtful upset upsetting offended insulted betrayed jealous envious
-0.4 -0.7 -0.4: tired exhausted exhausting weary drained fatigued sleepy burnout
-0.4 -0.7 -0.2: bored boring boredom dull apathetic listless indifferent
-0.4  0.3 -0.5: confused confusing unsure insecure doubtful puzzled bewildered
-0.5  0.1 -0.4: struggling struggled struggle suffering suffer painful trapped vulnerable
"""
_CHINESE: Final = """
 0.8  0.4  0.4: 高兴 开心 快乐 愉快 欢喜 喜悦 欣喜 欢乐 乐呵呵
 0.9  0.8  0.5: 狂喜 欣喜若狂 欢呼雀跃 乐坏了 高兴极了 欢天喜地
 0.7  0.8  0.4: 激动 兴奋 期待 热情 迫不及待 振奋 热血沸腾
 0.8  0.3  0.3: 热爱 深爱 喜爱 疼爱 心爱 珍惜 钟爱 爱上
 0.7 -0.6  0.4: 平静 放松 安宁 宁静 惬意 悠闲 安详 轻松 心平气和
 0.6 -0.2  0.3: 满足 满意 知足 舒服 舒心 舒适 踏实 充实 欣慰
 0.7  0.1  0.1: 感激 感恩 感动 幸福 温暖 暖心 庆幸 幸运
 0.6  0.5  0.8: 自豪 骄傲 自信 坚定 成就感 有信心 胸有成竹
 0.6  0.2  0.3: 充满希望 乐观 鼓舞 受鼓励 有盼头
 0.7  0.5  0.4: 好玩 有趣 享受 过瘾 痛快 尽兴 畅快 陶醉
 0.6  0.6  0.0: 惊喜 惊叹 震撼 太棒了 美妙 了不起 赞叹
 0.4 -0.3  0.2: 放心 安心 松了一口气 松口气 如释重负
-0.7 -0.4 -0.5: 难过 伤心 悲伤 悲痛 心碎 哭了 想哭 流泪 哀伤 忧伤 悲哀 失落
-0.8 -0.4 -0.7: 绝望 抑郁 沮丧 消沉 崩溃 无助 心如死灰 万念俱灰
-0.6 -0.4 -0.5: 孤独 寂寞 孤单 想家 冷落 被抛弃 没人理
-0.6  0.6 -0.5: 焦虑 紧张 担心 担忧 不安 忐忑 发愁 着急 焦急 忧虑
-0.7  0.8 -0.7: 害怕 恐惧 恐慌 惊恐 吓坏了 惊慌 胆战心惊 可怕 惶恐
-0.6  0.7 -0.5: 压力大 压力很大 喘不过气 手忙脚乱 吃不消 焦头烂额
-0.7  0.8  0.2: 生气 愤怒 气愤 恼火 发火 暴怒 气死了 恼怒 火大 怒火
-0.6  0.5  0.0: 烦躁 心烦 烦恼 厌烦 郁闷 憋屈 不耐烦 烦死了 闹心 烦心
-0.7  0.5  0.2: 讨厌 恶心 憎恨 痛恨 厌恶 反感 糟透了 受不了
-0.6  0.2 -0.5: 羞愧 尴尬 内疚 惭愧 丢脸 后悔 自责 愧疚 懊悔
-0.6  0.0 -0.4: 失望 灰心 泄气 遗憾 扫兴 心灰意冷 气馁
-0.5  0.3 -0.4: 委屈 受伤 嫉妒 心酸 心疼 背叛 侮辱
-0.4 -0.7 -0.4: 疲惫 累死了 好累 很累 太累 累坏了 筋疲力尽 疲倦 困倦 乏力 疲劳
-0.4 -0.7 -0.2: 无聊 枯燥 乏味 没劲 提不起劲 麻木 冷漠
-0.4  0.3 -0.5: 困惑 迷茫 茫然 彷徨 纠结 不知所措 没底
-0.5  0.1 -0.4: 痛苦 难受 煎熬 挣扎 折磨 辛酸 受罪
"""

# How much more or less a word means that stands before it.
INTENSIFIERS: Final = {
    word: factor
    for factor, words in (
        (1.3, "very really so extremely incredibly super truly totally absolutely deeply terribly too such"),
        (0.6, "slightly somewhat kinda fairly rather mildly little bit almost"),
    )
    for word in words.split()
}
HAN_INTENSIFIERS: Final = {
    word: factor
    for factor, words in ((1.3, "非常 特别 十分 极其 超级 真的 很 太 好 真 超 极"), (0.6, "有点 有些 稍微 略微 一点"))
    for word in words.split()
}
NEGATIONS: Final = frozenset("not no never hardly barely neither nor without cannot less".split())
HAN_NEGATIONS: Final = (
    "不再",
    "不是",
    "没有",
    "不怎么",
    "不太",
    "并不",
    "从不",
    "毫不",
    "毫无",
    "别",
    "不",
    "没",
    "无",
)


def _read(table: str) -> dict[str, tuple[float, float, float]]:
    read = {}
    for line in table.strip().splitlines():
        numbers, _, words = line.partition(":")
        valence, arousal, dominance = map(float, numbers.split())
        read.update(dict.fromkeys(words.split(), (valence, arousal, dominance)))
    return read


ENGLISH: Final = _read(_ENGLISH)
CHINESE: Final = _read(_CHINESE)
