"""Words which a query may hold but which say nothing about what is sought. Data only.

Only queries are filtered: the index keeps every word, so that a query of nothing but stop words ("to be or not to
be") can still be answered. Entries are casefolded surface forms before stemming. The tokenizer splits at
apostrophes, which is why halves of contractions ("don", "ll") stand here.

The English list was chosen by the measured recall of conversation turns, where no list or a small one costs five
points. Left out on purpose: before, after, during, for they carry time; and light verbs such as go, get or like, whose
idf is low enough by itself.
"""

from __future__ import annotations

from typing import Final

ENGLISH: Final[frozenset[str]] = frozenset(
    """
    a an the this that these those
    i me my mine myself we us our ours ourselves you your yours yourself yourselves
    he him his himself she her hers herself it its itself they them their theirs themselves
    am is are was were be been being
    do does did doing done have has had having
    can could shall should will would may might must ought
    s t d ll m re ve don didn doesn isn aren wasn weren hasn haven hadn wouldn shouldn couldn mustn needn ain
    and or but nor so yet if then else than because as while although though unless until since whether
    of at by for with about against between among into through above below to from up down
    in out on off over under again further onto upon within without toward towards
    here there where when why how what which who whom whose
    all any both each few more most other others another some such no not only own same too very just also ever
    now many much
    kind kinds sort sorts type types
    say says said tell tells told mention mentions mentioned describe describes described
    please yes hey hi hello ok okay
    """.split()
)

CHINESE: Final[frozenset[str]] = frozenset(
    """
    的 了 着 著 过 過 地 得 之 是 在 于 於 我 你 您 他 她 它 们 們 咱 我们 我們 你们 你們 他们 他們 她们
    她們 它们 它們
    咱们 咱們 自己 大家 别人 別人 吗 嗎 呢 吧 啊 呀 哦 嗯 嘛 啦 哈 么 麼 什么 什麼 甚么 甚麼 啥 谁 誰 哪
    哪里 哪裡 哪儿 哪兒
    哪个 哪個 哪些 哪位 怎么 怎麼 怎样 怎樣 怎么样 怎麼樣 如何 为什么 為什麼 为何 為何 为啥 多少 几 幾
    几个 幾個
    何 何时 何時 何地 何处 何處 是否 是不是 有没有 有沒有 能不能 会不会 會不會 什么时候 什麼時候 时候
    時候 什么样 什麼樣
    有 没 沒 没有 沒有 和 与 與 及 跟 同 或 或者 而 而且 并 並 并且 並且 也 都 就 还 還 又 再 才 很 太
    更 最 非常 比较 比較
    不 别 別 把 被 给 給 对 對 从 從 到 向 往 以 因为 因為 所以 但 但是 可是 不过 不過 如果 虽然 雖然
    那么 那麼 这么 這麼
    这 這 那 此 这个 這個 那个 那個 这些 這些 那些 这里 這裡 那里 那裡 这样 這樣 那样 那樣 每 某 各 个
    個 些 一个 一個 一些 一下
    要 会 會 能 可以 可能 应该 應該 需要 想 去 来 來 说 說 讲 講 告诉 告訴 知道 觉得 覺得 提到 提过 提過
    请 請 请问 請問
    上 下 里 裡 中 里面 裡面 东西 東西 事 事情 关于 關於 曾 曾经 曾經 已经 已經
    """.split()
)

# Whole runs of Kana between Han words: particles and endings.
JAPANESE: Final[frozenset[str]] = frozenset(
    """
    は を の が に で と も へ や か ね よ な から まで より には では とは でも です ます でした ました
    ですか ますか でしたか ましたか
    した して する いる ある だった だ について という この その あの どの これ それ あれ どれ ここ そこ
    どこ いつ なに だれ
    なぜ どう どうして どんな
    """.split()
)
