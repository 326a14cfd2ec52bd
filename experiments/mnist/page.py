"""The cases as a page of cards: no scripts, nothing from outside, readable on a phone, in the dark and on paper."""

import htpy as h
from markupsafe import Markup

from experiments.mnist.cases import (
    CHART_HEIGHT,
    CHART_WIDTH,
    SHOWN,
    TITLE,
    Case,
    Showcase,
    chart,
    in_words,
    it_was,
    meaning,
    percent,
    signed,
    style,
    verdict,
)
from experiments.mnist.choices import CAREFUL
from experiments.mnist.images import IN_THE_DARK, image_uri
from prudent.show import FADED, INK, OTHERS, PAPER, RULE, SOFT, WASH, Area, Box, Element, Line, Picture, Point

_ROLES = (INK, SOFT, FADED, RULE, PAPER, WASH)
_LIGHT = "".join(f"--{role.name}:{role.light};" for role in _ROLES)
_DARK = "".join(f"--{role.name}:{role.dark};" for role in _ROLES)
STYLE = f"""
:root{{color-scheme:light dark;{_LIGHT}--desk:#f1f3f5}}
@media screen and (prefers-color-scheme:dark){{:root{{{_DARK}--desk:#0c0e10}}}}
{IN_THE_DARK}
*{{box-sizing:border-box}}
body{{margin:0;background:var(--desk);color:var(--ink);font:15px/1.5 Helvetica,Arial,'Liberation Sans',sans-serif}}
main{{max-width:1180px;margin:0 auto;padding:44px 24px 60px}}
h1{{font-size:32px;line-height:1.2;letter-spacing:-.01em;margin:0 0 14px}}
header p{{font-size:17px;max-width:52em;margin:0 0 24px}}
.soft,figcaption,th{{color:var(--soft)}}
.how{{display:grid;grid-template-columns:2fr 3fr 5fr 3fr;gap:14px 30px;margin:0 0 16px;padding:0 0 16px;list-style:none;
line-height:1.45;border-bottom:1px solid var(--rule)}}
.how b{{display:block}}
.how svg,.key svg,th svg{{vertical-align:-2px;margin-right:3px}}
.how span{{display:inline-block;margin-right:10px}}
.read{{margin:0 0 30px;padding:20px 24px;background:var(--paper);border-radius:10px;font-size:14px}}
.key{{margin:0}}.key div{{display:grid;grid-template-columns:minmax(15em,auto) 1fr auto;gap:0 18px;padding:3px 0}}
.key dt{{font-weight:bold}}.key dd{{margin:0;color:var(--soft)}}
article{{display:grid;grid-template-columns:140px 190px minmax(264px,1fr) 330px;gap:0 30px;
align-items:center;background:var(--paper);border-radius:10px;padding:20px 24px;margin-bottom:14px}}
figure{{margin:0}}
img{{display:block;width:100%;outline:1px solid color-mix(in srgb,var(--faded) 55%,transparent)}}
.seen img{{image-rendering:pixelated}}
.guesses{{display:grid;grid-template-columns:repeat(3,1fr);gap:8px 12px}}
figcaption{{font-size:11.5px;text-align:center;line-height:1.2;padding-top:5px;white-space:nowrap}}
.prices svg{{display:block;width:100%;max-width:400px}}
.truth{{display:flex;align-items:center;gap:12px;font-size:18px;font-weight:bold;margin-bottom:6px}}
.truth img{{width:42px}}
table{{border-collapse:collapse;width:100%;font-size:13px;font-variant-numeric:tabular-nums}}
th{{font-weight:normal;text-align:right;font-size:11.5px}}
th[scope=row]{{text-align:left;color:var(--ink);font-size:13px;overflow-wrap:anywhere}}
td{{text-align:right;padding:1px 0 1px 8px;white-space:nowrap}}
td.answer{{font-weight:bold}}tr.bad td{{font-weight:bold}}td.soft{{min-width:4em}}tr.bad td.soft{{color:var(--ink)}}
@media screen and (max-width:1120px){{article{{grid-template-columns:140px 1fr 330px;gap:20px 26px}}
.prices{{grid-column:1/3;align-self:start}}.choices{{grid-column:3;align-self:start}}
.guesses{{grid-column:2/4;grid-template-columns:repeat(6,1fr)}}
.how{{grid-template-columns:1fr 1fr}}}}
@media screen and (max-width:720px){{main{{padding:26px 12px 40px}}h1{{font-size:25px}}header p{{font-size:16px}}
.how{{grid-template-columns:1fr;gap:10px}}
.key{{margin:0}}.key div{{display:block;padding:5px 0}}.key dd{{padding-left:20px;line-height:1.35}}
article{{grid-template-columns:112px 1fr;gap:16px 18px;padding:16px}}.read{{padding:16px}}
.guesses{{grid-column:2;grid-template-columns:repeat(3,1fr)}}
.prices,.choices{{grid-column:1/3}}.prices svg{{max-width:none}}}}
@page{{size:A4;margin:14mm}}
@media print{{body{{background:none;font-size:10pt}}main{{padding:0}}article,.read{{padding:10px 0;margin:0;
border-top:1px solid var(--rule);border-radius:0;break-inside:avoid}}}}
"""


def page(showcase: Showcase) -> str:
    """All cases as one self-contained page."""
    document = h.html(lang="en")[
        h.head[
            h.meta(charset="utf-8"),
            h.meta(name="viewport", content="width=device-width, initial-scale=1"),
            h.title[TITLE],
            h.style[Markup(STYLE)],
        ],
        h.body[
            h.main[
                h.header[h.h1[TITLE], h.p[showcase.narrative], h.div(".read")[_how(), _key(showcase)]],
                [_card(case, showcase) for case in showcase.cases],
            ]
        ],
    ]
    return f"{document}\n"


def _how() -> h.Element:
    """How to read a card, from left to right."""
    marks = (
        (Area(Box(4, 2, 10, 13), OTHERS), "bar", "chance in % that it is the best"),
        (Point(7, 7, "circle", 3.6, INK), "dot", "expected reward"),
        (Point(7, 7, "diamond", 3, OTHERS), "diamond", f"mean of the worst {percent(CAREFUL)}"),
        (Line(((2, 7), (12, 7)), OTHERS, 1.8), "line", "worst plausible"),
        (Area(Box(2, 0, 12, 14), WASH, 2), "column", "the truth"),
    )
    parts = (
        ("Seen", "What the model saw. Blue pixels are gone."),
        (
            "It may have been …",
            "Images that agree with what was seen: the chance that each stands for → its best answer.",
        ),
        ("What each answer may bring", [h.span[_mark(element, name), words] for element, name, words in marks]),
        ("What was answered", "The choice of each strategy, and the reward it earned when the digit was revealed."),
    )
    return h.ol(".how")[[h.li[h.b[head], text] for head, text in parts]]


def _key(showcase: Showcase) -> h.Element:
    return h.dl(".key")[
        [
            h.div[h.dt[_strategy_mark(showcase, at), name], h.dd[meaning(name)], h.dd[showcase.tally(at)]]
            for at, name in enumerate(showcase.strategies)
        ]
    ]


def _strategy_mark(showcase: Showcase, at: int) -> Markup:
    colour, shape = style(at)
    return _mark(Point(7, 7, shape, 4.5, colour), showcase.strategies[at])


def _mark(element: Element, title: str) -> Markup:
    return Markup(Picture(14, 14, (element,), title).svg())


def _card(case: Case, showcase: Showcase) -> h.Element:
    drawn, words = tuple(chart(case, showcase.price_range)), in_words(case, showcase.strategies)
    prices = Picture(CHART_WIDTH, CHART_HEIGHT, drawn, "What each answer may bring", words)
    return h.article[
        h.figure(".seen")[_image(image_uri(case.pixels, case.observed), "what was seen of the image")],
        h.div(".guesses")[[_guess(case, at) for at in range(min(SHOWN, len(case.completions)))]],
        h.div(".prices")[Markup(prices.svg())],
        h.div(".choices")[
            h.div(".truth")[_image(image_uri(case.pixels), "the whole image"), it_was(case.label)],
            _answers(case, showcase),
        ],
    ]


def _image(uri: str, words: str) -> h.VoidElement:
    return h.img(".digit", src=uri, alt=words)


def _guess(case: Case, at: int) -> h.Element:
    share, action = percent(float(case.completion_share[at])), int(case.completion_action[at])
    image = _image(image_uri(case.completions[at]), f"one plausible image, best answer {action}")
    return h.figure[image, h.figcaption[f"{share} → {action}"]]


def _answers(case: Case, showcase: Showcase) -> h.Element:
    lines = []
    for at, (name, action) in enumerate(zip(showcase.strategies, case.choice, strict=True)):
        reward = case.rewards[at]
        lines.append(
            h.tr(class_={"bad": reward < -2})[
                h.th(scope="row")[_strategy_mark(showcase, at), f" {name}"],
                h.td(".answer")[str(int(action))],
                h.td[signed(reward)],
                h.td(".soft")[verdict(reward)],
            ]
        )
    heads = h.tr[h.th, h.th(scope="col")["answer"], h.th(scope="col")["reward"], h.th]
    return h.table[h.thead[heads], h.tbody[lines]]
