"""A law of every picture: no word leaves it or covers another."""

import itertools

from prudent.show import Box, Picture


def assert_words_are_clear(picture: Picture) -> None:
    canvas = Box(0, 0, picture.width, picture.height)
    for text in picture.texts:
        assert canvas.holds(text.box), (picture.title, text.text)
    for one, other in itertools.combinations(picture.texts, 2):
        assert not one.box.overlaps(other.box), (picture.title, one.text, other.text)
