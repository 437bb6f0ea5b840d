"""The synthetic tables of the papers: uniform and normal numbers, and a stand-in for the Lands End orders.

Algorithms are compared on the first two in LeFevre et al. (2006); the Lands End table of LeFevre et al.
(2005) is not public, so the stand-in has its columns and cardinalities, no more.
"""

import math

import numpy as np
import pyarrow as pa

from indistinct.errors import ParameterError
from indistinct.hierarchy.value import Hierarchy
from indistinct.samples._sampling import (
    BLOCK,
    ConditionalShares,
    Numbers,
    blocks,
    check_size,
    encoded_text,
    happens,
    plain_text,
)

LANDS_END_QUASI = ("zipcode", "order_date", "gender", "style", "price", "quantity", "cost", "shipment")

_LARGEST_SIGMA = 10.0

_ZIPCODES = 31_953
_ORDER_DATES = 320
_STYLES = 1_509
_PRICES = 346
_COSTS = 1_412
_FIRST_ORDER = np.datetime64("2001-01-01")
_GENDER = ("female", "male")
_SHIPMENT = ("standard", "express")


def generate_uniform(rows: int, *, seed: int, columns: int = 5, cardinality: int = 100) -> pa.Table:
    """Return independent columns x1, x2, … of whole numbers below `cardinality`, all equally likely.

    >>> generate_uniform(3, seed=1, columns=2).column_names
    ['x1', 'x2']
    """
    _check_shape(rows, seed=seed, columns=columns, cardinality=cardinality)
    generator = np.random.default_rng(seed)
    return pa.table({f"x{index + 1}": generator.integers(0, cardinality, size=rows) for index in range(columns)})


def generate_normal(
    rows: int, *, seed: int, columns: int = 2, cardinality: int = 50, mu: float | None = None, sigma: float = 0.2
) -> pa.Table:
    """Return independent columns x1, x2, … of the discrete normal distribution of LeFevre et al. (2006).

    A value is the floor of `mu + cardinality * sigma * z` with a standard normal `z`; draws outside 0 to
    `cardinality - 1` are rejected. `mu` is `cardinality / 2` where it is left out.
    """
    _check_shape(rows, seed=seed, columns=columns, cardinality=cardinality)
    centre = cardinality / 2 if mu is None else mu
    if not 0 <= centre < cardinality:
        raise ParameterError(f"`mu` must be at least 0 and below the cardinality {cardinality}; got {mu}")
    if not 0 < sigma <= _LARGEST_SIGMA:
        raise ParameterError(
            f"`sigma` must be above 0 and at most {_LARGEST_SIGMA:g}; got {sigma}",
            hint="sigma is relative to the cardinality: 0.2 is a fifth of the range",
        )
    generator = np.random.default_rng(seed)
    spread = cardinality * sigma
    drawn = [_normal(rows, generator, centre=centre, spread=spread, cardinality=cardinality) for _ in range(columns)]
    return pa.table({f"x{index + 1}": values for index, values in enumerate(drawn)})


def generate_lands_end(rows: int, *, seed: int) -> pa.Table:
    """Return orders with the cardinalities of Lands End: every value occurs once the table is large enough.

    Zip code 31,953 values, order date 320, gender 2, style 1,509, price 346, quantity 1, cost 1,412, shipment
    2; the published table had 4,591,581 rows. Price depends on style and cost on price, both in cents; zip
    codes and styles are skewed.
    """
    zipcodes = [f"{501 + 3 * number:05d}" for number in range(_ZIPCODES)]
    styles = [f"S{number + 1:04d}" for number in range(_STYLES)]
    seasons = ConditionalShares.of(2 + np.sin(np.arange(_ORDER_DATES) / 25))
    pieces = []
    for index, generator in blocks(rows, seed=seed):
        style = _draw_skewed(generator, _STYLES)
        price = (style * 229 % _PRICES + generator.integers(-12, 13, size=BLOCK)) % _PRICES
        cost = np.rint(price * (_COSTS / _PRICES) + 60 * generator.standard_normal(BLOCK)).astype(np.int64)
        piece = pa.table(
            {
                "zipcode": plain_text(_draw_skewed(generator, _ZIPCODES), zipcodes),
                "order_date": pa.array(_FIRST_ORDER + seasons.draw(generator).astype(np.int64), pa.date32()),
                "gender": encoded_text(happens(generator, chances=0.38), _GENDER),
                "style": encoded_text(style, styles),
                "price": 450 + 100 * price,
                "quantity": np.ones(BLOCK, dtype=np.int64),
                "cost": 100 + 10 * np.clip(cost, 0, _COSTS - 1),
                "shipment": encoded_text(happens(generator, chances=0.15), _SHIPMENT),
            }
        )
        pieces.append(piece.slice(0, index.stop - index.start))
    return pa.concat_tables(pieces)


def lands_end_hierarchies() -> dict[str, Hierarchy]:
    """Return a hierarchy for each column; their heights are those of LeFevre et al. (2005).

    That is 5, 3, 1, 1, 4, 1, 4 and 1 generalization steps.
    """
    return {
        "zipcode": Hierarchy.masking(),
        "order_date": Hierarchy.dates(["month", "quarter"]),
        "gender": Hierarchy.suppression(),
        "style": Hierarchy.suppression(),
        "price": Hierarchy.intervals([1_000, 5_000, 10_000]),
        "quantity": Hierarchy.suppression(),
        "cost": Hierarchy.intervals([500, 2_500, 5_000]),
        "shipment": Hierarchy.suppression(),
    }


def _normal(rows: int, generator: np.random.Generator, *, centre: float, spread: float, cardinality: int) -> Numbers:
    """Return one column of the discrete normal distribution, drawn until enough values lie in range."""
    accepted, wanted = [np.empty(0, dtype=np.int64)], rows
    while wanted > 0:
        drawn = np.floor(centre + spread * generator.standard_normal(wanted)).astype(np.int64)
        inside = drawn[(drawn >= 0) & (drawn < cardinality)]
        accepted.append(inside)
        wanted -= len(inside)
    return np.concatenate(accepted)


def _draw_skewed(generator: np.random.Generator, size: int) -> Numbers:
    """Return one block of codes below `size`, the lower the likelier, none of them rare."""
    return np.floor(size * generator.random(BLOCK) ** math.sqrt(2)).astype(np.int32)


def _check_shape(rows: int, *, seed: int, columns: int, cardinality: int) -> None:
    check_size(rows, seed=seed)
    for name, value in (("columns", columns), ("cardinality", cardinality)):
        if value < 1:
            raise ParameterError(f"`{name}` must be at least 1; got {value}")
