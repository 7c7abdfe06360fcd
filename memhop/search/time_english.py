"""English words that name a time, as one pattern over a text of lower case; see `time_words`.

    day       today, yesterday evening, the day after tomorrow, last night, this morning
    recent    the last 3 days, the past few months, the next two weeks
    near      last week, next month, this weekend, the week before last, over the weekend
    weekday   last Friday, on Friday morning, this coming Friday, by Monday
    season    last autumn, the summer of 2021, next spring
    ago       three days ago, a couple of weeks ago, two days from now, in two weeks
    iso       2023-05-08, 2023-05
    dated     8 May, May 8th 2023, in March, March 2023
    year      in 2023

Statements are long and full of ordinary words, so there "may", "march" and "mar" are months only with a capital or
behind a word that leaves no doubt, a bare day of the week wants its capital, and "in two weeks" of what is over says
how long it took.
"""

from __future__ import annotations

import re
from typing import Final

from memhop.search import dates
from memhop.search.dates import Stretch
from memhop.search.said import Said

MONTHS: Final = {
    name: number
    for number, names in enumerate(
        (
            "january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul",
            "august aug", "september sept sep", "october oct", "november nov", "december dec",
        ),
        1,
    )
    for name in names.split()
}  # fmt: skip
WEEKDAYS: Final = {
    name: number for number, name in enumerate("monday tuesday wednesday thursday friday saturday sunday".split())
}
_NUMBERS: Final = {
    word: number
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve".split()
    )
} | {"a": 1, "an": 1, "couple": 2, "a couple": 2, "few": 3, "a few": 3, "several": 4}  # fmt: skip
_SEASONS: Final = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_ORDINARY: Final = frozenset(("may", "march", "mar"))  # words that are no month, mostly
_SURE: Final = frozenset(
    ("in", "during", "since", "early", "late", "mid", "last", "next")
)  # before a month, never a verb
_REACHING: Final = frozenset(("before", "after", "by", "until", "till"))  # a question means not the month but up to it
_EVERY = re.compile(r"\b(?:every|each|most|some|any|one)\s{1,3}$")
_VAGUE = re.compile("few|several")

_S = r"\s{1,3}"
_NUMBER = rf"\d{{1,3}}|{'|'.join(sorted(_NUMBERS, key=len, reverse=True))}"
_NUMBER = _NUMBER.replace(" ", _S)
_UNIT = "day|week|month|year"
_MONTH = "|".join(sorted(MONTHS, key=len, reverse=True))
_WEEKDAY = "|".join(WEEKDAYS)
_PART = r"(?:\s{{1,3}}(?P<{}>morning|noon|afternoon|evening|night)\b)?"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
# Each branch begins with the letters that it can begin with, which halves the time: most words are none of these.
PATTERN: Final = re.compile(
    r"\b(?:"
    # -- day
    rf"(?=[dlty])(?P<day>(?P<d1>(?:the{_S})?day{_S}before{_S}yesterday|(?:the{_S})?day{_S}after{_S}tomorrow|today|yesterday"
    rf"|tomorrow){_PART.format('p1')}|(?P<d2>tonight|last{_S}night|this{_S}(?:morning|afternoon|evening)))\b"
    # -- recent
    rf"|(?=[clnp])(?P<recent>(?P<w3>last|past|previous|next|coming){_S}(?P<n3>{_NUMBER})(?:{_S}of)?{_S}(?P<u3>{_UNIT})s?)\b"
    # -- near
    rf"|(?=[acdlnopt])(?P<near>(?P<w2>last|previous|this{_S}past|past|this{_S}coming|this|next|coming){_S}(?P<u2>weekend|week|month|year)"
    rf"|the{_S}(?P<u4>week|weekend|month|year){_S}(?P<before>before{_S}last)"
    rf"|(?:over|at|on|during){_S}the{_S}(?P<u5>weekend))\b"
    # -- weekday
    rf"|(?=[bcflmnostuw])(?P<weekday>(?:(?P<w6>last|this{_S}past|this{_S}coming|this|next|coming|on|by|until|till|since|from){_S})?"
    rf"(?P<d6>{_WEEKDAY}){_PART.format('p6')})\b"
    # -- season
    rf"|(?=[aflnpstw])(?P<season>(?P<w7>last|this{_S}past|previous|past|this|next){_S}(?P<s7>spring|summer|autumn|fall|winter)"
    rf"|(?P<s8>spring|summer|autumn|fall|winter){_S}(?:of{_S})?(?P<y8>(?:19|20)\d\d))\b"
    # -- ago
    rf"|(?=[\dacefhinostz])(?P<ago>(?P<n9>{_NUMBER}|half{_S}a)(?:{_S}of)?{_S}(?P<u9>{_UNIT})s?{_S}(?P<w9>ago|from{_S}now)"
    rf"|in{_S}(?P<n10>{_NUMBER})(?:{_S}of)?{_S}(?P<u10>{_UNIT})s?(?:['’]{_S}time)?)\b"
    # -- date
    r"|(?=\d)(?P<iso>(?P<y11>\d{4})[-/.](?P<m11>\d{1,2})(?:[-/.](?P<d11>\d{1,2}))?(?!\d))"
    rf"|(?=[\dabdefijlmnostu])(?P<dated>(?P<d12>{_DAY}){_S}(?:of{_S})?(?P<m12>{_MONTH})\b\.?(?:,?{_S}(?P<y12>\d{{4}}))?"
    rf"|(?P<m14>{_MONTH})\.?,?{_S}(?:of{_S})?(?P<y14>\d{{4}})"
    rf"|(?P<m13>{_MONTH})\.?{_S}(?:the{_S})?(?P<d13>{_DAY})\b(?![\d:])(?:,?{_S}(?P<y13>\d{{4}}))?"
    rf"|(?P<w15>in|during|since|last|next|this|early|late|mid|of|by|until|till|before|after)[\s-]{{1,3}}(?:early{_S}|late{_S}|mid[\s-])?"
    rf"(?P<m15>{_MONTH})(?!\.?{_S}\d|\.?,{_S}\d{{4}}))\b"
    r"|(?=[bdiosuy])(?P<year>(?:in|during|of|since|by|until|year)\s{1,3}(?P<y16>(?:19|20)\d\d))\b(?![-/.]\d)"
    r")"
)


def _day(match: re.Match[str], said: Said) -> Stretch | None:
    words = (match["d1"] or match["d2"]).split()
    if match["d2"]:
        day = dates.unit("day", -1 if words[0] == "last" else 0, said.today)
        return _part(day, "night" if words[-1] == "tonight" else words[-1], said)
    steps = {"today": 0, "yesterday": -1, "tomorrow": 1}[words[-1]]
    steps += 1 if "after" in words else -1 if "before" in words else 0
    return _part(dates.unit("day", steps, said.today), match["p1"], said)


def _recent(match: re.Match[str], said: Said) -> Stretch | None:
    reach = dates.until if match["w3"] in ("next", "coming") else dates.since
    return reach(match["u3"], _number(match["n3"]), said.today)


def _near(match: re.Match[str], said: Said) -> Stretch | None:
    name = match["u2"] or match["u4"] or "weekend"
    if match["u2"]:
        word = match["w2"].split()[-1]
        steps = {"this": 0, "next": 1, "coming": 0 if name == "weekend" else 1}.get(word, -1)
    elif match["u4"]:
        steps = -2
    else:
        steps = -1 if said.leaning(match) < 0 and said.today.weekday() < 5 else 0
    return dates.weekend(steps, said.today) if name == "weekend" else dates.unit(name, steps, said.today)


def _weekday(match: re.Match[str], said: Said) -> Stretch | None:
    number = WEEKDAYS[match["d6"]]
    word = (match["w6"] or "").split()[-1:]
    if word == ["this"]:
        return _part(dates.weekday_of_week(number, 0, said.today), match["p6"], said)
    leaning = {"last": -1, "past": -1, "since": -1, "next": 1, "coming": 1, "by": 1, "until": 1, "till": 1}.get(
        "".join(word), said.leaning(match) or 1
    )
    if not word or word[0] in ("by", "until", "till", "since", "from"):
        again = _EVERY.search(said.just_before(match, 10))
        if said.asked or again or not said.capital(match, "d6"):
            return None
    return _part(dates.weekday(number, leaning, said.today), match["p6"], said)


def _season(match: re.Match[str], said: Said) -> Stretch | None:
    if match["s8"]:
        return dates.season(_SEASONS[match["s8"]], int(match["y8"]))
    word = match["w7"].split()[-1]
    return dates.season_near(_SEASONS[match["s7"]], word if word in ("this", "next") else "last", said.today)


def _ago(match: re.Match[str], said: Said) -> Stretch | None:
    if match["n9"]:
        return _away(match["n9"], match["u9"], -1 if match["w9"] == "ago" else 1, said)
    leaning = said.leaning(match)
    if leaning < 0 or (leaning == 0 and match["n10"] in ("a", "an")):
        return None  # how long it took, or how often
    return _away(match["n10"], match["u10"], 1, said)


def _away(count: str, name: str, direction: int, said: Said) -> Stretch | None:
    """So many units from today; "a few" may be two to five."""
    if count.startswith("half"):
        smaller = {"year": ("month", 6), "month": ("week", 2)}.get(name)
        return smaller and dates.around(smaller[0], direction * smaller[1], said.today)
    number = _number(count)
    if not _VAGUE.search(count):
        return dates.around(name, direction * number, said.today)
    return dates.joined(
        dates.around(name, direction * (number - 1), said.today),
        dates.around(name, direction * (number + 2), said.today),
    )


def _iso(match: re.Match[str], said: Said) -> Stretch | None:
    year, day = int(match["y11"]), match["d11"]
    serial = not 1900 <= year < 2100 or (not day and "." in match[0]) or said.just_before(match, 1) in tuple("-./")
    if serial and not said.asked:
        return None
    return dates.dated(year, int(match["m11"]), int(day) if day else None, -1, said.today)


def _dated(match: re.Match[str], said: Said) -> Stretch | None:
    form = next(form for form in ("12", "13", "14", "15") if match[f"m{form}"])
    name, word = match[f"m{form}"], match["w15"] or ""
    if form == "15" and said.asked and word in _REACHING:
        return None
    day = match[f"d{form}"] if form in ("12", "13") else None
    year = match[f"y{form}"] if form != "15" else None
    if not said.asked and name in _ORDINARY and not year and word not in _SURE:
        sure = day is not None and (not day.isdigit() or said.just_before(match, 3) == "on ")
        if not sure and not said.capital(match, f"m{form}"):
            return None
    if form == "12" and said.just_before(match, 1) in (":", "."):
        return None  # "at 5:30 Jan called"
    if word == "this":
        year = str(said.today.year)
    leaning = {"last": -1, "since": -1, "next": 1, "by": 1, "until": 1, "till": 1}.get(word) or said.leaning(match)
    number = int(re.sub(r"\D", "", day)) if day else None
    return dates.dated(int(year) if year else None, MONTHS[name], number, leaning, said.today)


def _year(match: re.Match[str], said: Said) -> Stretch | None:
    return dates.year(int(match["y16"]))


def _part(day: Stretch | None, part: str | None, said: Said) -> Stretch | None:
    """Those hours of a day; the whole day where it is asked for, because texts are seldom dated to the hour."""
    return dates.part_of(day, part) if day and part and not said.asked else day


def _number(text: str) -> int:
    return int(text) if text.isdigit() else _NUMBERS[" ".join(text.split())]


MEANING: Final = {
    "day": _day, "recent": _recent, "near": _near, "weekday": _weekday, "season": _season, "ago": _ago, "iso": _iso,
    "dated": _dated, "year": _year,
}  # fmt: skip
# Every form has one of these words, with at most `REACH` characters of the form before the first or after the last.
ANCHORS: Final = frozenset(
    "day days week weeks weekend month months year years today tonight yesterday tomorrow night morning afternoon "
    "evening spring summer autumn fall winter".split()
) | {*MONTHS, *WEEKDAYS, *map(str, range(1900, 2100))}
REACH: Final = 40
RELATIVE: Final = frozenset(("day", "recent", "near", "weekday", "ago"))
