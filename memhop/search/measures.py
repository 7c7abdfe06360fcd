"""Units of measure, each as a share of its dimension's base unit. Data, and one pattern over it.

Bases: second, byte, metre, gram, litre, degree Celsius, per cent, hertz, watt, volt. A month is a twelfth of a year of
365.25 days. "MB" is a million bytes or 2^20, "m" a metre or a minute, "pound" a weight or money: such units have
several readings, and two texts agree if any of them does.
"""

from __future__ import annotations

import re
from typing import Final

_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86400.0
_YEAR = 365.25 * _DAY

_TABLE: dict[str, dict[float, str]] = {
    "duration": {
        1e-6: "us µs microsecond microseconds 微秒",
        1e-3: "ms msec msecs millisecond milliseconds 毫秒",
        1.0: "s sec secs second seconds 秒 秒钟",
        _MINUTE: "m min mins minute minutes 分 分钟 分鐘",
        15 * _MINUTE: "刻钟",
        _HOUR: "h hr hrs hour hours 小时 小時 钟头 个小时 個小時 个钟头",
        _DAY: "d day days 天 日",
        7 * _DAY: "w wk wks week weeks 周 星期 礼拜 个星期 个礼拜",
        14 * _DAY: "fortnight fortnights",
        _YEAR / 12: "month months mo 个月 個月",
        _YEAR: "y yr yrs year years 年",
        10 * _YEAR: "decade decades",
    },
    "size": {
        1.0: "b byte bytes 字节",
        1e3: "kb kilobyte kilobytes",
        2.0**10: "kb kib kilobyte kilobytes",
        1e6: "mb meg megs megabyte megabytes 兆",
        2.0**20: "mb mib meg megs megabyte megabytes 兆",
        1e9: "gb gig gigs gigabyte gigabytes",
        2.0**30: "gb gib gig gigs gigabyte gigabytes",
        1e12: "tb terabyte terabytes",
        2.0**40: "tb tib terabyte terabytes",
    },
    "length": {
        1e-3: "mm millimetre millimetres millimeter millimeters 毫米",
        1e-2: "cm centimetre centimetres centimeter centimeters 厘米 公分",
        1.0: "m metre metres meter meters 米",
        1e3: "km kms kilometre kilometres kilometer kilometers k 公里 千米",
        0.0254: "inch inches",
        0.3048: "ft foot feet",
        0.9144: "yard yards yd",
        1609.344: "mile miles mi 英里",
        500.0: "里",
    },
    "mass": {
        1e-3: "mg milligram milligrams 毫克",
        1.0: "g gram grams gramme grammes 克",
        1e3: "kg kgs kilo kilos kilogram kilograms 公斤 千克",
        50.0: "两",
        500.0: "斤",
        28.349523125: "oz ounce ounces",
        453.59237: "lb lbs pound pounds 磅",
        1e6: "t ton tons tonne tonnes 吨 噸",
    },
    "volume": {1e-3: "ml millilitre millilitres milliliter milliliters 毫升", 1.0: "l litre litres liter liters 升"},
    "percent": {1.0: "% percent pct"},
    "frequency": {1.0: "hz hertz", 1e3: "khz", 1e6: "mhz", 1e9: "ghz"},
    "power": {1.0: "w watt watts 瓦", 1e3: "kw kilowatt kilowatts 千瓦"},
    "volt": {1.0: "v volt volts 伏"},
    "dollar": {1.0: "$ usd dollar dollars buck bucks 美元 美金", 0.01: "cents"},
    "euro": {1.0: "€ eur euro euros 欧元 歐元"},
    "sterling": {1.0: "£ gbp pound pounds quid 英镑"},
    "yuan": {1.0: "¥ cny rmb yuan 元 块 块钱 塊 人民币"},
    "yen": {1.0: "¥ jpy yen 日元 円"},
    "celsius": {1.0: "° °c c celsius centigrade degree degrees 度 摄氏度"},
}
CURRENCIES: Final = frozenset(("dollar", "euro", "sterling", "yuan", "yen"))  # one is not another, whatever the amount
_FAHRENHEIT = frozenset({"°f", "f", "fahrenheit"})

UNITS: Final[dict[str, tuple[tuple[str, float], ...]]] = {}
for _dimension, _factors in _TABLE.items():
    for _factor, _names in _factors.items():
        for _name in _names.split():
            UNITS[_name] = (*UNITS.get(_name, ()), (_dimension, _factor))

_COUNTERS = frozenset("个個人台次条條名位只隻张張件份章楼樓层層号號倍页頁本把辆輛间間盒片粒杯瓶种種项項步级級岁歲")
_LATIN = re.compile(r"\s?-?(?:degrees?\s(?=[cf]))?([a-zµ°%$€£¥]+)")
_LONGEST = max(len(name) for name in [*UNITS] if not name.isascii())


def unit_at(text: str, start: int) -> tuple[str, int] | None:
    """The unit that stands at a place of a text of lower case, perhaps after a blank or a hyphen, and where it ends."""
    match = _LATIN.match(text, start)
    if match:
        name = match[1]
        if name in UNITS or name in _FAHRENHEIT:
            return name, match.end()
        return (name[0], match.start(1) + 1) if name[0] in "%$€£¥°" else None
    start += text.startswith(" ", start)
    for length in range(_LONGEST, 0, -1):
        if (name := text[start : start + length]) in UNITS:
            return name, start + len(name)
    return None


def is_counted(text: str, start: int) -> bool:
    """Whether a measure word stands at a place of a text: 三个, 5 楼."""
    return text[start : start + 1] in _COUNTERS


MONEY_BEFORE: Final = re.compile(r"([$€£¥])\s?$")


def measured(amount: float, unit: str) -> tuple[tuple[str, float], ...]:
    """The readings of an amount with a unit as (dimension, amount in its base). KeyError: no such unit."""
    if unit in _FAHRENHEIT:
        return (("celsius", round((amount - 32) / 1.8, 1)),)
    return tuple((dimension, amount * factor) for dimension, factor in UNITS[unit])
