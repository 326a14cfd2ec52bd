"""Pictures without dependencies: a few marks on a canvas, axes with round ticks, charts of series, and the picture of
one decision. Each is a `Picture`, which notebooks show and `svg()` writes as one self-contained file."""

from prudent.show.pictures.charts import Series, scatter_lines
from prudent.show.pictures.picture import Picture
from prudent.show.pictures.prices import PriceRow, price_rows

__all__ = ["Picture", "PriceRow", "Series", "price_rows", "scatter_lines"]
