"""English words whose forms no stemmer brings together: win, won; child, children. Data only.

Forms that are commoner as words of their own (rose, ground, wound, bore, lay) are left out, and so are verbs which
queries drop anyway.
"""

from __future__ import annotations

from typing import Final

FORMS: Final[tuple[tuple[str, ...], ...]] = tuple(
    tuple(group.split())
    for group in """
    arise arose arisen, awake awoke awoken, become became, begin began begun, bend bent, bind bound, bite bit bitten,
    bleed bled, blow blew blown, break broke broken, breed bred, bring brought, build built, burn burnt, buy bought,
    catch caught, choose chose chosen, cling clung, come came, creep crept, deal dealt, dig dug, dive dove, draw drew
    drawn, dream dreamt, drink drank drunk, drive drove driven, eat ate eaten, fall fell fallen, feed fed, feel felt,
    fight fought, find found, flee fled, fling flung, fly flew flown, forbid forbade forbidden, forget forgot forgotten,
    forgive forgave forgiven, freeze froze frozen, get got gotten, give gave given, go went gone, grow grew grown, hang
    hung, hear heard, hide hid hidden, hold held, keep kept, kneel knelt, know knew known, lead led, lean leant, leap
    leapt, learn learnt, leave left, lend lent, light lit, lose lost, make made, mean meant, meet met, pay paid, ride
    rode ridden, ring rang rung, rise risen, run ran, see saw seen, seek sought, sell sold, send sent, shake shook
    shaken, shine shone, shoot shot, shrink shrank shrunk, sing sang sung, sink sank sunk, sit sat, sleep slept, slide
    slid, speak spoke spoken, spell spelt, spend spent, spill spilt, spin spun, spit spat, spring sprang sprung, stand
    stood, steal stole stolen, stick stuck, sting stung, stink stank stunk, strike struck stricken, strive strove
    striven, swear swore sworn, sweep swept, swell swollen, swim swam swum, swing swung, take took taken, teach taught,
    tear tore torn, think thought, throw threw thrown, understand understood, wake woke woken, wear wore worn, weave
    wove woven, weep wept, win won, withdraw withdrew withdrawn, write wrote written, child children, man men, woman
    women, person people, foot feet, tooth teeth, goose geese, mouse mice, wife wives, life lives, knife knives, leaf
    leaves, half halves, shelf shelves, wolf wolves
    """.split(",")
)
