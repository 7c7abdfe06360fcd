"""Chinese words that name a time, as one pattern; see `time_words`.

    day       今天, 昨天晚上, 大后天, 今早
    near      上周, 下下个月, 这周末, 上周五, 下个月3号
    weekday   周五
    season    去年冬天, 明年夏天, 2021年秋天
    ago       三天前, 半年前, 两周后
    recent    过去三天, 最近两周, 接下来三个月
    dated     5月8日, 2023年5月, 去年三月
    year      去年, 2023年

What looks like these and is not: 每周五, 三天前天 (前天), 以前, 今后, 周围, 三个月, 晚上周五 (上周五).
"""

from __future__ import annotations

import re
from typing import Final

from memhop.search import dates
from memhop.search.dates import Stretch
from memhop.search.said import Said

HAN_DIGITS: Final = {digit: value for value, digit in enumerate("零一二三四五六七八九十")} | {"两": 2, "〇": 0}
_DIGITS: Final = HAN_DIGITS | {"兩": 2, "几": 3, "幾": 3, "数": 3, "數": 3, "半": 1}
_SEASONS: Final = {"春": 3, "夏": 6, "秋": 9, "冬": 12}
_YEARS: Final = {"今": 0, "去": -1, "前": -2, "明": 1, "后": 2, "後": 2}
_STEPS: Final = {"上上": -2, "上": -1, "下": 1, "下下": 2}
_UNITS: Final = {"天": "day", "日": "day", "月": "month", "年": "year"}
_HOURS: Final = {
    "凌晨": "night", "清晨": "morning", "早上": "morning", "早晨": "morning", "上午": "morning", "早": "morning",
    "晨": "morning", "中午": "noon", "下午": "afternoon", "傍晚": "evening", "晚上": "evening", "晚": "evening",
    "夜里": "night", "夜": "night",
}  # fmt: skip

_AMOUNT = "[0-9]{1,3}|[一二两兩三四五六七八九十]{1,3}|[几幾数數半]"
_NUMBER = "[0-9]{1,2}|[一二三四五六七八九十]{1,3}"
_UNIT = "天|周|週|星期|礼拜|禮拜|月|年"
_WEEK = "周|週|星期|礼拜|禮拜"
_NOT_WEEK = "(?![围圍边邊到密刊岁歲转轉期])"
_PART = "凌晨|清晨|早上|早晨|上午|中午|下午|傍晚|晚上|夜里"
_AFTER_NUMBER = "(?<![0-9一二两兩三四五六七八九十几幾数數]天)"
PATTERN: Final = re.compile(
    rf"(?P<ago>(?P<n1>{_AMOUNT})(?:(?P<u1>天|周|週|年)|[个個](?P<u2>星期|礼拜|禮拜|月)|(?P<u3>星期|礼拜|禮拜|月))(?:以|之)?(?P<w1>[前后後]))"
    rf"|(?P<recent>(?P<w2>过去|過去|最近|未来|未來|接下来|接下來)[的这這]?(?P<n2>{_AMOUNT})[个個]?(?P<u4>{_UNIT}))"
    rf"|(?P<day>(?P<d3>大前天|大[后後]天|{_AFTER_NUMBER}(?<![以之])前天(?![天气氣黑空])"
    rf"|{_AFTER_NUMBER}(?<![以今之然最])[后後]天(?![天气氣黑空才])|[昨今明][天日]|[昨今明][晚早晨夜])的?(?P<p3>{_PART})?)"
    rf"|(?P<near>(?<![早晚以])(?P<w4>上上|下下|[上下这這本])一?[个個]?(?:(?P<u5>[周週]末)|(?P<u6>{_WEEK}){_NOT_WEEK}"
    rf"(?:(?P<d4>[一二三四五六日天])(?![个個起次定直些样])(?P<p4>{_PART})?)?"
    rf"|(?P<u7>月)(?:(?P<d5>{_NUMBER})[日号號])?|(?P<s4>[春夏秋冬])[天季]?))"
    rf"|(?P<weekday>(?<![每个個到至])(?:{_WEEK})(?P<d6>[一二三四五六日天])(?![个個起次定直些样到至])(?P<p6>{_PART})?)"
    r"|(?P<weekend>[周週]末)"
    r"|(?P<season>(?P<y7>(?:19|20)[0-9]{2}|[今去前明后後])年的?(?P<s7>[春夏秋冬])[天季]?)"
    rf"|(?P<dated>(?:(?P<y8>[0-9]{{4}}|[今去前明后後])年的?)?(?P<m8>[0-9]{{1,2}}|[一二三四五六七八九十]{{1,2}})月(?![前后後])"
    rf"(?:份|(?P<d8>{_NUMBER})[日号號]?)?)"
    r"|(?P<year>(?P<y9>(?:19|20)[0-9]{2}|今|去|(?<![以之年目])前|明|(?<![以今之然最])[后後])年(?![轻輕龄齡]))"
)


def _ago(match: re.Match[str], said: Said) -> Stretch | None:
    name, count = match["u1"] or match["u2"] or match["u3"], match["n1"]
    direction = -1 if match["w1"] == "前" else 1
    if name == "月" and match["u3"] and count != "半" and not said.asked:
        return None  # 十月前: before October
    if count == "半":
        smaller = {"年": ("month", 6), "月": ("week", 2)}.get(name)
        return smaller and dates.around(smaller[0], direction * smaller[1], said.today)
    unit, number = _UNITS.get(name, "week"), _number(count)
    if count not in "几幾数數":
        return dates.around(unit, direction * number, said.today)
    return dates.joined(
        dates.around(unit, direction * (number - 1), said.today),
        dates.around(unit, direction * (number + 2), said.today),
    )


def _recent(match: re.Match[str], said: Said) -> Stretch | None:
    ahead = match["w2"][0] in "未接"
    unit, number = _UNITS.get(match["u4"], "week"), _number(match["n2"])
    if match["n2"] == "半":
        if unit not in ("month", "year"):
            return None
        unit, number = ("month", 6) if unit == "year" else ("week", 2)
    return (dates.until if ahead else dates.since)(unit, number, said.today)


def _day(match: re.Match[str], said: Said) -> Stretch | None:
    word = match["d3"]
    if word[-1] == "天" or word[-1] == "日":
        steps = {"大前": -3, "前": -2, "昨": -1, "今": 0, "明": 1, "后": 2, "後": 2}.get(word[:-1], 3)
        part = match["p3"]
    else:
        steps, part = {"昨": -1, "今": 0, "明": 1}[word[0]], word[1]
    return _part(dates.unit("day", steps, said.today), part, said)


def _near(match: re.Match[str], said: Said) -> Stretch | None:
    steps, today = _STEPS.get(match["w4"], 0), said.today
    if match["u5"]:
        return dates.weekend(steps, today)
    if match["u6"]:
        if not match["d4"]:
            return dates.unit("week", steps, today)
        return _part(dates.weekday_of_week(_weekday_number(match["d4"]), steps, today), match["p4"], said)
    if match["u7"]:
        month = dates.unit("month", steps, today)
        if month is None or not match["d5"]:
            return month
        return dates.dated(month[0].year, month[0].month, _number(match["d5"]), -1, today)
    which = "last" if steps < 0 else "next" if steps > 0 else "this"
    return dates.season_near(_SEASONS[match["s4"]], which, today)


def _weekday(match: re.Match[str], said: Said) -> Stretch | None:
    if said.asked:
        return None  # 周五几点开门: of any
    day = dates.weekday(_weekday_number(match["d6"]), said.leaning(match) or 1, said.today)
    return _part(day, match["p6"], said)


def _weekend(match: re.Match[str], said: Said) -> Stretch | None:
    if said.asked:
        return None
    return dates.weekend(-1 if said.leaning(match) < 0 and said.today.weekday() < 5 else 0, said.today)


def _season(match: re.Match[str], said: Said) -> Stretch | None:
    return dates.season(_SEASONS[match["s7"]], _year_number(match["y7"], said))


def _dated(match: re.Match[str], said: Said) -> Stretch | None:
    year = _year_number(match["y8"], said) if match["y8"] else None
    day = _number(match["d8"]) if match["d8"] else None
    return dates.dated(year, _number(match["m8"]), day, said.leaning(match), said.today)


def _year(match: re.Match[str], said: Said) -> Stretch | None:
    return dates.year(_year_number(match["y9"], said))


def _year_number(text: str, said: Said) -> int:
    return int(text) if text.isdigit() else said.today.year + _YEARS[text]


def _weekday_number(text: str) -> int:
    return "一二三四五六日".index(text.replace("天", "日"))


def _part(day: Stretch | None, part: str | None, said: Said) -> Stretch | None:
    return dates.part_of(day, _HOURS[part]) if day and part and not said.asked else day


def _number(text: str) -> int:
    if text.isdigit():
        return int(text)
    if "十" not in text:
        return _DIGITS[text[0]]
    tens, _, ones = text.partition("十")  # of two digits side by side ("二三十天", 20 or 30 days) the first counts
    return (_DIGITS[tens[0]] if tens else 1) * 10 + (_DIGITS[ones[0]] if ones else 0)


ANCHOR: Final = re.compile("[天日晚早晨夜周週期拜月年春夏秋冬]")  # every form has one of these
MEANING: Final = {
    "ago": _ago, "recent": _recent, "day": _day, "near": _near, "weekday": _weekday, "weekend": _weekend,
    "season": _season, "dated": _dated, "year": _year,
}  # fmt: skip


def is_relative(match: re.Match[str]) -> bool:
    """Whether a match speaks of a time relative to when it is said, in words that no other text repeats."""
    return match.lastgroup not in ("season", "dated") and not match["s4"] and not (match["y9"] or "").isdigit()
