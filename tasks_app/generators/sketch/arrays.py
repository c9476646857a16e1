"""The array type of the artist and the few shaping functions that everything uses."""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
"""A float32 array: ``(h, w)`` for fields and masks, ``(h, w, 3)`` for pixels (sRGB, 0 to 1)."""

Rng = np.random.Generator


def smoothstep(low: float, high: float, value: Array) -> Array:
    """Return the cubic Hermite step of ``value`` from ``low`` to ``high``, in either order."""
    t = np.clip((value - low) / (high - low), 0.0, 1.0)
    return t * t * (3.0 - 2.0 * t)


def mix(first: Array, second: Array, share: Array | float) -> Array:
    """Return ``first`` moved by ``share`` (0 to 1) towards ``second``."""
    return first + (second - first) * share


def unit_range(field: Array) -> Array:
    """Return the field stretched to fill 0 to 1."""
    low, high = float(field.min()), float(field.max())
    return (field - low) / max(high - low, 1e-6)
