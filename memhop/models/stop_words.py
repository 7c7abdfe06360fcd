"""Words which carry no meaning of their own, English and Chinese, casefolded. Data only."""

from __future__ import annotations

_ENGLISH = """
a about above across after afterwards again against ago all almost alone along already also although
always am among an and another any anybody anyone anything anyway anywhere are around as at away back be
became because become becomes been before behind being below beside besides between beyond both but by
came can cannot come comes could did do does doing done down during each either else enough especially
etc even ever every everybody everyone everything everywhere except few for from further gave get gets
getting give gives given go goes going gone got had has have having he hence her here hers herself him
himself his how however i if in indeed instead into is it its itself just keep kept know known last
later least less let like likely ll made make makes making many may maybe me mean means might mine more
moreover most mostly much must my myself namely near nearly neither never nevertheless next no nobody
none nor not nothing now nowhere of off often oh ok okay on once one only onto or other others otherwise
our ours ourselves out over own per perhaps please pretty put quite rather re really said same saw say
saying says see seem seems seen several shall she should since so some somebody someone something
sometimes somewhere still such sure take taken takes tell than thank thanks that the their theirs them
themselves then there therefore these they thing things think this those though through throughout thus
till to together told too took toward towards under unless until up upon us use used uses using usually
ve very via want wants was way we well went were what whatever when whenever where whereas wherever
whether which while who whoever whole whom whose why will with within without would yeah yes yet you
your yours yourself yourselves
today tomorrow tonight yesterday hello hey hi wow lol hmm um uh aren couldn didn doesn don hadn hasn haven
isn mustn shouldn wasn weren won wouldn i'm i've i'd i'll you're you've you'd you'll he's he'd he'll
she's she'd she'll it's it'll we're we've we'd we'll they're they've they'd they'll that's there's
here's what's who's where's how's let's aren't can't couldn't didn't doesn't don't hadn't hasn't haven't
isn't mustn't shouldn't wasn't weren't won't wouldn't
"""

_CHINESE = """
的 了 和 是 在 我 有 他 她 它 这 那 你 您 们 我们 你们 他们 她们 它们 咱们 自己 大家 别人 这个 那个 这些
那些 这里 那里 这儿 那儿 这样 那样 这么 那么 什么 怎么 怎样 怎么样 为什么 哪 哪里 哪儿 哪个 哪些 谁 几
多少 多 少 不 没 没有 不是 不会 不能 不要 不用 别 也 都 就 还 还是 还有 又 再 才 只 只是 只有 很 太 更
最 非常 特别 比较 有点 有些 一些 一点 一下 一个 一种 一样 一起 一直 一定 已经 曾经 正在 刚刚 刚才 现在
然后 后来 以后 以前 之后 之前 当时 时候 的时候 因为 所以 因此 由于 但 但是 可是 不过 然而 虽然 如果 要是
只要 除了 而 而且 并 并且 或 或者 与 及 以及 跟 同 对 对于 关于 给 把 被 让 使 叫 向 往 从 自 到 由 用
以 为 为了 按 按照 根据 通过 比 像 好像 如 如何 例如 比如 等 等等 之 其 其中 其他 其实 当然 可能 也许
大概 应该 可以 能 能够 会 要 想 想要 需要 必须 得 地 着 过 吗 呢 吧 啊 呀 哦 嗯 哈 哈哈 啦 嘛 哎 唉 喂
上 下 里 中 内 外 前 后 上面 下面 里面 去 来 做 说 说是 看 觉得 认为 知道 告诉 进行 成为 作为 有的 所有
每 每个 各 各种 任何 某 某个 另 另外 多么 几乎 真 真的 好 好的 行 对了 谢谢 请 您好 你好 再见 东西 事情
事 人 是否 是不是 有没有 能不能 会不会 还要 就是 都是 也是 不再 起来 出来 下来 过来
"""

_CODE = """
async await bool break case catch class const continue def default elif enum except export extends false
finally float fn func function implements import int interface lambda nil null number pass private
protected public raise return self static str string struct super switch throw true try type undefined
var void yield
"""

_SMALL_TALK = """
amazing awesome bad best better big bit cool day days excellent exciting feel feels felt fine find found glad gonna
good gotta great guess guys happened happens happy hear heard hope important interesting kind look looked looking
looks lot lots mind morning new nice people person place plan problem right show sort sound sounds start started
stay stuff sure talk talking tell thought time times tough tried try trying wait wanna way ways week well wish
wonderful work works worked world worth
今天 明天 昨天 时间 地方 问题 开始 感觉 样子 方面 情况 办法 意思 看看 听说 聊聊 不错 厉害 没事 没关系 加油
"""

STOP_WORDS: frozenset[str] = frozenset(_ENGLISH.split()) | frozenset(_CHINESE.split())
CODE_WORDS: frozenset[str] = frozenset(_CODE.split())
"""Keywords of programming languages: no topic of a text that shows code, but good words elsewhere."""
SMALL_TALK: frozenset[str] = frozenset(_SMALL_TALK.split())
"""What everybody says in every conversation: it may carry a sentence, but says nothing about a person."""
