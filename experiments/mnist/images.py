"""Small grey images as PNG data, drawn as ink on paper; what was not observed is tinted, so that it reads as absent."""

import base64
import math
import struct
import zlib
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, UInt8

from prudent.errors import require
from prudent.show import Element, xml_text

ABSENT = (190, 214, 238)
"""A calm blue: no grey is blue, so an erased pixel is never taken for a pale one."""
GREY, RGB = 0, 2
IN_THE_DARK = "@media screen and (prefers-color-scheme:dark){.digit{filter:invert(1) hue-rotate(180deg)}}"
"""On a dark screen ink is white and paper black; turning the hue back leaves the tint blue."""


def image_uri(pixels: UInt8[np.ndarray, "..."], observed: Bool[np.ndarray, "..."] | None = None) -> str:
    """A square image, flat or not, as a `data:` address: 0 is white paper, 255 black ink.

    >>> image_uri(np.zeros(49, np.uint8))[:22]
    'data:image/png;base64,'
    """
    side = math.isqrt(pixels.size)
    require(side * side == pixels.size, "image_uri", "pixels", "be as many as a square has", pixels.size)
    shown = 255 - pixels.reshape(side, side).astype(np.uint8)
    if observed is not None:
        seen = observed.reshape(side, side, 1)
        shown = np.where(seen, shown[:, :, None], np.array(ABSENT, np.uint8))
    return "data:image/png;base64," + base64.b64encode(_png(shown)).decode("ascii")


def _png(shown: UInt8[np.ndarray, "side side ..."]) -> bytes:
    """A PNG file of three chunks; every line of it begins with 0, which says that the line is stored as it is."""
    side = len(shown)
    head = struct.pack(">IIBBBBB", side, side, 8, GREY if shown.ndim == 2 else RGB, 0, 0, 0)
    lines = b"".join(b"\0" + line.tobytes() for line in shown)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


@dataclass(frozen=True)
class Image(Element):
    """A square image in a picture; `tip` is shown when the pointer rests on it."""

    x: float
    y: float
    size: float
    uri: str
    tip: str = ""
    crisp: bool = False

    def svg(self) -> str:
        look = ' style="image-rendering:pixelated"' if self.crisp else ""
        return (
            f'<image class="digit" x="{self.x:g}" y="{self.y:g}" width="{self.size:g}" height="{self.size:g}" '
            f'href="{self.uri}"{look}><title>{xml_text(self.tip)}</title></image>'
        )


@dataclass(frozen=True)
class Frame(Element):
    """A thin line around an image, in a grey that is soft on light and on dark paper."""

    x: float
    y: float
    size: float

    def svg(self) -> str:
        return (
            f'<rect x="{self.x - 0.5:g}" y="{self.y - 0.5:g}" width="{self.size + 1:g}" height="{self.size + 1:g}" '
            'fill="none" stroke="#8b96a1" stroke-opacity="0.55"/>'
        )


@dataclass(frozen=True)
class DarkImages(Element):
    """The rule that exchanges ink and paper of all images of a picture on a dark screen."""

    def svg(self) -> str:
        return f"<style>{IN_THE_DARK}</style>"
