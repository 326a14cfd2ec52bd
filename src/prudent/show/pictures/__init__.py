"""Pictures without dependencies: marks on a canvas, axes with round ticks, charts, and the picture of one decision."""
