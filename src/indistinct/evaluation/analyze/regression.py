"""Regressions of a study, on its original and on completed tables of a release, combined by Rubin's rules."""

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from indistinct.errors import MissingExtraError, ParameterError
from indistinct.evaluation.analyze.columns import CategoryColumn, Floats, NumericColumn, StudyColumn
from indistinct.evaluation.analyze.formula import Formula
from indistinct.evaluation.analyze.imputation import RangedColumn, draw_columns, dummies_of
from indistinct.evaluation.analyze.result import Interval

CONFIDENCE = 0.95
MAX_TERMS = 500


def require_extra() -> None:
    """Raise `MissingExtraError` where the packages that fit regressions are not installed."""
    try:
        import formulaic  # noqa: F401
        import statsmodels  # noqa: F401
    except ModuleNotFoundError as error:
        raise MissingExtraError(str(error.name), extra="analysis", purpose="analyze") from None


@dataclass(frozen=True, slots=True, eq=False)
class RegressionFit:
    """Coefficients by the names of their terms, with their covariance and degrees of freedom."""

    names: tuple[str, ...]
    estimates: Floats
    covariance: Floats
    freedom: float

    def intervals(self) -> dict[str, Interval]:
        """Return each estimate with its confidence interval."""
        errors = np.sqrt(np.maximum(np.diag(self.covariance), 0.0))
        return dict(
            zip(self.names, map(interval_of, self.estimates, errors, [self.freedom] * len(errors)), strict=True)
        )


def interval_of(estimate: float, error: float, freedom: float = np.inf) -> Interval:
    """Return an estimate with the confidence interval of Student's t distribution."""
    from scipy.stats import t

    width = float(t.ppf(0.5 + CONFIDENCE / 2, freedom)) * error if np.isfinite(freedom) else 1.959963984540054 * error
    return Interval(float(estimate), float(estimate - width), float(estimate + width), float(error))


def combine(estimates: Floats, variances: Floats, freedom: float) -> tuple[Floats, Floats, Floats]:
    """Return mean, total variance and degrees of freedom of each figure over completed tables.

    Rows of both arrays are the tables. Degrees of freedom are those of Barnard and Rubin (1999).
    """
    draws = len(estimates)
    within, between = (
        variances.mean(axis=0),
        estimates.var(axis=0, ddof=1) if draws > 1 else np.zeros(estimates.shape[1]),
    )
    total = within + (1 + 1 / draws) * between
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(total > 0, (1 + 1 / draws) * between / total, 0.0)
        old = np.where(share > 0, (draws - 1) / np.maximum(share, 1e-300) ** 2, np.inf)
        observed = np.inf if not np.isfinite(freedom) else (freedom + 1) / (freedom + 3) * freedom * (1 - share)
        both = np.where(np.isfinite(observed), 1 / (1 / old + 1 / np.maximum(observed, 1e-300)), old)
    return estimates.mean(axis=0), total, both


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """The columns of one side of a comparison: plain arrays by name, where a value is missing with a mask."""

    columns: Mapping[str, Any]
    complete: Any
    ranged: Mapping[str, RangedColumn] = field(default_factory=dict)
    weights: Floats | None = None

    @property
    def rows(self) -> int:
        """Rows in which every column has a value."""
        return int(self.complete.sum())


def original_side(columns: Mapping[str, StudyColumn], weights: Floats | None) -> Side:
    """Return the original's values of some columns."""
    values = {name: _values(each, each.original) for name, each in columns.items()}
    return _side(values, {}, weights)


def released_side(columns: Mapping[str, StudyColumn], weights: Floats | None) -> Side:
    """Return the release's values of some columns; those in ranges have their bounds too."""
    values = {
        name: _values(each, each.midpoints if isinstance(each, NumericColumn) else each.released)
        for name, each in columns.items()
    }
    ranged = {
        name: RangedColumn(*each.bounds, each.whole)
        for name, each in columns.items()
        if isinstance(each, NumericColumn) and each.in_ranges
    }
    return _side(values, ranged, weights)


def _values(column: StudyColumn, values: Any) -> Any:
    """Return numbers unchanged, and the names of categories."""
    if isinstance(column, NumericColumn):
        return values
    names = np.array([*column.categories, None], dtype=object)
    return names[values]


def _side(values: Mapping[str, Any], ranged: Mapping[str, RangedColumn], weights: Floats | None) -> Side:
    """Collect the columns of one side, original or release, for rows with all values."""
    complete = np.ones(len(next(iter(values.values()))), dtype=bool)
    for each in values.values():
        complete &= np.array([cell is not None for cell in each]) if each.dtype == object else ~np.isnan(each)
    if weights is not None:
        complete &= np.isfinite(weights) & (weights > 0)
    kept = {name: each[complete] for name, each in values.items()}
    bounds = {name: RangedColumn(each.low[complete], each.high[complete], each.whole) for name, each in ranged.items()}
    return Side(kept, complete, bounds, None if weights is None else weights[complete])


def fit_original(formula: Formula, side: Side, columns: Mapping[str, StudyColumn]) -> RegressionFit:
    """Return the fit of a formula on the original."""
    return _fit(formula, side.columns, side.weights, bounds=None, order=_order(columns))


def rows_behind(formula: Formula, side: Side, columns: Mapping[str, StudyColumn]) -> dict[str, float]:
    """Return on how many rows of the original each coefficient rests.

    A coefficient is a weighted sum of outcomes. A row counts as much as its weight, so that a rare category, a rare
    reference and a row far from all others leave few rows behind a coefficient: (sum of w²)² / sum of w⁴.
    """
    names, design = _design(formula, _frame(formula, side.columns, _order(columns)))
    if formula.family == "cox":
        design = design - design.mean(axis=0)
    scaled = design if side.weights is None else design * np.sqrt(side.weights)[:, None]
    shares = (scaled @ np.linalg.pinv(scaled.T @ scaled)) ** 2
    totals = shares.sum(axis=0)
    behind = np.divide(totals**2, (shares**2).sum(axis=0), out=np.zeros(len(names)), where=totals > 0)
    return dict(zip(names, behind.tolist(), strict=True))


def _order(columns: Mapping[str, StudyColumn]) -> dict[str, tuple[str, ...]]:
    """Return the categories of each categorical column: the first is the reference, before and after."""
    return {name: each.categories for name, each in columns.items() if isinstance(each, CategoryColumn)}


def fit_release(
    formula: Formula, side: Side, columns: Mapping[str, StudyColumn], *, draws: int, seed: int
) -> dict[str, Interval]:
    """Return the estimates on a release; where it shows ranges, they are imputed and the fits combined."""
    plain = formula.plain_outcome
    bounds = side.ranged.get(plain) if plain is not None else None
    if bounds is not None and formula.family != "linear":
        raise ParameterError(
            f"the outcome {plain!r} is in ranges, which family {formula.family} cannot take",
            hint=f'use family linear, or the rule "midpoint" for {plain!r}',
        )
    if not any(name in side.ranged for name in formula.covariates):
        return _fit(formula, side.columns, side.weights, bounds=bounds, order=_order(columns)).intervals()
    random = np.random.default_rng(seed)
    fits = [
        _fit(formula, {**side.columns, **completed}, side.weights, bounds=bounds, order=_order(columns))
        for completed in draw_columns(side.ranged, _list_predictors(formula, side, columns), draws=draws, random=random)
    ]
    names = tuple(dict.fromkeys(name for each in fits for name in each.names))
    if any(each.names != names for each in fits):
        raise ParameterError(
            "the terms of the formula differ between imputations", hint="use fewer functions of ranges"
        )
    estimates = np.array([each.estimates for each in fits])
    variances = np.array([np.diag(each.covariance) for each in fits])
    mean, total, freedom = combine(estimates, variances, fits[0].freedom)
    errors = np.sqrt(total)
    return {name: interval_of(*figures) for name, *figures in zip(names, mean, errors, freedom, strict=True)}


def _list_predictors(formula: Formula, side: Side, columns: Mapping[str, StudyColumn]) -> list[Floats]:
    """Return the columns that ranges are imputed from: the outcome in the form of its family, and exact covariates."""
    known: list[Floats] = []
    for name in formula.covariates:
        column = columns[name]
        if isinstance(column, CategoryColumn):
            known += dummies_of(column.released[side.complete], len(column.categories))
        elif name not in side.ranged:
            known.append(side.columns[name])
    if formula.family == "cox":
        time, event = side.columns[formula.time], _events(formula.event, side.columns[formula.event])
        return [*known, event, _nelson_aalen(time, event)]
    for name in formula.outcome_columns:
        if name in side.ranged:
            continue
        values = side.columns[name]
        if values.dtype == object:
            known.append(_two_values(name, values)[0])
        else:
            known += [values, np.log1p(np.maximum(values, 0.0))] if formula.family == "poisson" else [values]
    return known


def _nelson_aalen(time: Floats, event: Floats) -> Floats:
    """Return the cumulative hazard at each time: what an imputation takes for survival (White and Royston 2009)."""
    order = np.argsort(time, kind="stable")
    at_risk = len(time) - np.searchsorted(time[order], time[order], side="left")
    hazard = np.cumsum(event[order] / at_risk)
    last = np.searchsorted(time[order], time, side="right") - 1
    return np.asarray(hazard[last])


def _fit(
    formula: Formula,
    columns: Mapping[str, Any],
    weights: Floats | None,
    *,
    bounds: RangedColumn | None,
    order: Mapping[str, Sequence[str]] | None = None,
) -> RegressionFit:
    """Return the fit of a formula on complete columns; `bounds` are those of an outcome in ranges."""
    frame = _frame(formula, columns, order or {})
    names, design = _design(formula, frame)
    if len(frame) <= len(names):
        raise ParameterError(
            f"{len(frame):,} rows are too few for {len(names):,} terms", hint="analyze fewer columns, or more rows"
        )
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # of convergence: what cannot be estimated has no finite error
        try:
            if formula.family == "cox":
                return _fit_cox(formula, frame, names, design, weights)
            outcome = _outcome(formula, frame)
            if bounds is not None:
                return _fit_ranges(names, design, bounds)
            return _fit_linear(formula, names, design, outcome, weights)
        except (np.linalg.LinAlgError, ValueError, ZeroDivisionError):
            raise ParameterError(
                "the regression cannot be fitted: columns may depend on each other, or predict the outcome perfectly",
                hint="leave out a covariate, or join rare categories",
            ) from None


def _frame(formula: Formula, columns: Mapping[str, Any], order: Mapping[str, Sequence[str]]) -> Any:
    """Return a data frame for a formula; its categories have the order of the original."""
    import pandas as pd

    frame = pd.DataFrame({name: columns[name] for name in formula.columns})
    for name, categories in order.items():
        if name in formula.covariates:
            frame[name] = pd.Categorical(frame[name], categories=list(categories))
    if not len(frame):
        raise ParameterError("no row has a value in every column of the formula", hint="analyze fewer columns")
    return frame


def _design(formula: Formula, frame: Any) -> tuple[tuple[str, ...], Floats]:
    """Return the names of the terms and the design matrix."""
    from formulaic import model_matrix
    from formulaic.errors import FormulaicError

    terms = f"{formula.terms or '1'}{' + 1' if formula.family == 'cox' else ''}"
    try:
        matrix = model_matrix(terms, frame, context={"sqrt": np.sqrt}, na_action="raise")
    except (FormulaicError, ValueError, TypeError, SyntaxError):
        raise ParameterError(
            "the right side of the formula cannot be evaluated",
            hint="categories go into C(…), numbers into log(…) and the like",
        ) from None
    names, values = list(matrix.columns), np.asarray(matrix, np.float64)
    if formula.family == "cox" and "Intercept" in names:
        kept = [index for index, name in enumerate(names) if name != "Intercept"]
        names, values = [names[index] for index in kept], values[:, kept]
    if len(names) > MAX_TERMS:
        raise ParameterError(
            f"the formula has {len(names):,} terms; at most {MAX_TERMS} can be compared",
            hint="a column of many categories may be an identifier, or a number that was read as text",
        )
    _require_references(frame)
    if not np.isfinite(values).all():
        raise ParameterError("the formula has a term that is not finite, such as the logarithm of 0")
    # A category that no row has, has no term here.
    present = np.abs(values).max(axis=0) > 0
    return tuple(str(name) for name, used in zip(names, present, strict=True) if used), values[:, present]


def _require_references(frame: Any) -> None:
    """Raise if the reference category has no row: the terms would have another meaning."""
    for name in frame.columns:
        column = frame[name]
        if column.dtype == "category" and not (column == column.cat.categories[0]).any():
            raise ParameterError(
                f"no row has the category of column {name!r} that the others are compared with",
                hint="join categories before the analysis",
            )


def _outcome(formula: Formula, frame: Any) -> Floats:
    """Return the outcome of a formula as numbers."""
    from formulaic import model_matrix

    name = formula.plain_outcome
    if name is None:
        matrix = np.asarray(model_matrix(f"0 + {formula.outcome}", frame, context={"sqrt": np.sqrt}), np.float64)
        if matrix.shape[1] != 1 or not np.isfinite(matrix).all():
            raise ParameterError(
                "the outcome of the formula is not one finite number", hint="write log(cost + 1) where cost may be 0"
            )
        return matrix[:, 0]
    values = frame[name].to_numpy()
    if formula.family == "logistic" or values.dtype == object:
        if formula.family != "logistic":
            raise ParameterError(
                f"the outcome {name!r} is text", hint="use family logistic for an outcome of two values"
            )
        return _two_values(name, values)[0]
    if formula.family == "poisson" and (values < 0).any():
        raise ParameterError(f"the outcome {name!r} has negative values, which are no counts", hint="use family linear")
    return np.asarray(values, np.float64)


def _two_values(name: str, values: Any) -> tuple[Floats, Any]:
    """Return which rows have the second of two values, and this value; raise unless there are two."""
    distinct = sorted(set(values.tolist()))
    if len(distinct) != 2:
        raise ParameterError(
            f"the outcome {name!r} of a logistic regression must have two values; it has {len(distinct)}",
            hint="use family linear for numbers",
        )
    return (values == distinct[1]).astype(np.float64), distinct[1]


def _events(name: str, values: Any) -> Floats:
    """Return 1 where the event happened."""
    if values.dtype != object and set(np.unique(values).tolist()) <= {0.0, 1.0}:
        return np.asarray(values, np.float64)
    return _two_values(name, values)[0]


def _fit_linear(
    formula: Formula, names: Sequence[str], design: Floats, outcome: Floats, weights: Floats | None
) -> RegressionFit:
    """Fit a linear or logistic regression."""
    from statsmodels.genmod import families
    from statsmodels.genmod.generalized_linear_model import GLM
    from statsmodels.regression.linear_model import OLS, WLS

    if weights is not None:
        # Weights of a survey say how many people a row represents; errors are those of their number in the sample.
        weights = weights / weights.mean()
    if formula.family == "linear":
        if weights is None:
            fit = OLS(outcome, design).fit()
        else:
            fit = WLS(outcome, design, weights=weights).fit(cov_type="HC1")
        return RegressionFit(tuple(names), np.asarray(fit.params), np.asarray(fit.cov_params()), float(fit.df_resid))
    family = families.Binomial() if formula.family == "logistic" else families.Poisson()
    model = GLM(outcome, design, family=family, freq_weights=weights)
    fit = model.fit() if weights is None else model.fit(cov_type="HC1")
    return RegressionFit(tuple(names), np.asarray(fit.params), np.asarray(fit.cov_params()), np.inf)


def _fit_cox(
    formula: Formula, frame: Any, names: Sequence[str], design: Floats, weights: Floats | None
) -> RegressionFit:
    """Fit a Cox regression."""
    from statsmodels.duration.hazard_regression import PHReg

    if weights is not None:
        raise ParameterError("a Cox regression takes no survey weights", hint="leave out the weights")
    time = frame[formula.time].to_numpy()
    if time.dtype == object or (time < 0).any():
        raise ParameterError(f"the time {formula.time!r} must be a number from 0", hint="write Surv(days, died) ~ age")
    event = _events(formula.event, frame[formula.event].to_numpy())
    if not names:
        raise ParameterError("a Cox regression needs a covariate", hint="write Surv(days, died) ~ age")
    fit = PHReg(np.asarray(time, np.float64), design, status=event, ties="efron").fit(disp=0)
    return RegressionFit(tuple(names), np.asarray(fit.params), np.asarray(fit.cov_params()), np.inf)


def _fit_ranges(names: Sequence[str], design: Floats, bounds: RangedColumn) -> RegressionFit:
    """Return the linear regression of an outcome in ranges by maximum likelihood, its errors taken to be normal."""
    from scipy.optimize import minimize
    from statsmodels.tools.numdiff import approx_hess

    middle = bounds.start()
    center, spread = float(middle.mean()), float(middle.std()) or 1.0
    scale = np.where(design.std(axis=0) > 0, np.abs(design).max(axis=0), 1.0)
    scaled = design / scale
    low, high = (bounds.low - center) / spread, (bounds.high - center) / spread
    exact = low >= high
    start = np.linalg.lstsq(scaled, (middle - center) / spread, rcond=None)[0]
    residual = (middle - center) / spread - scaled @ start
    begin = np.append(start, np.log(max(float(residual.std()), 1e-3)))

    def loss(parameters: Floats) -> float:
        return -float(_log_likelihood(parameters, scaled, low, high, exact).sum())

    fitted = minimize(loss, begin, jac=lambda at: -_gradient(at, scaled, low, high, exact), method="BFGS")
    covariance = np.linalg.inv(approx_hess(fitted.x, loss))[:-1, :-1] * spread**2 / np.outer(scale, scale)
    estimates = fitted.x[:-1] * spread / scale
    if "Intercept" in names:
        estimates[list(names).index("Intercept")] += center
    elif center:
        raise ParameterError("an outcome in ranges needs an intercept", hint="leave out `0 +` and `- 1`")
    return RegressionFit(tuple(names), estimates, covariance, np.inf)


def _log_likelihood(parameters: Floats, design: Floats, low: Floats, high: Floats, exact: Any) -> Floats:
    """Return the log-likelihood of each row under normal errors, where the outcome may be a range."""
    from scipy.special import log_ndtr

    mean, deviation = design @ parameters[:-1], np.exp(parameters[-1])
    below, above = (low - mean) / deviation, (high - mean) / deviation
    mirrored = below > 0
    first, last = np.where(mirrored, -above, below), np.where(mirrored, -below, above)
    upper, lower = log_ndtr(last), log_ndtr(first)
    ranges = upper + np.log1p(-np.exp(np.minimum(lower - upper, -1e-12)))
    density = -0.5 * below**2 - parameters[-1] - 0.5 * np.log(2 * np.pi)
    return np.where(exact, density, ranges)


def _gradient(parameters: Floats, design: Floats, low: Floats, high: Floats, exact: Any) -> Floats:
    """Return the derivative of the log-likelihood by coefficients and by the logarithm of the deviation."""
    mean, deviation = design @ parameters[:-1], np.exp(parameters[-1])
    below, above = (low - mean) / deviation, (high - mean) / deviation
    mass = np.exp(_log_likelihood(parameters, design, low, high, exact))
    density = [np.exp(-0.5 * np.where(np.isfinite(end), end, 40.0) ** 2) / np.sqrt(2 * np.pi) for end in (below, above)]
    weighted = [np.where(np.isfinite(end), end, 0.0) * part for end, part in zip((below, above), density, strict=True)]
    with np.errstate(divide="ignore", invalid="ignore"):
        by_mean = np.where(exact, below, (density[0] - density[1]) / mass) / deviation
        by_log = np.where(exact, below**2 - 1, (weighted[0] - weighted[1]) / mass)
    by_mean, by_log = np.nan_to_num(by_mean), np.nan_to_num(by_log)
    return np.append(design.T @ by_mean, by_log.sum())


def iterate_completed(side: Side, known: Iterable[Floats], *, draws: int, seed: int) -> Iterator[Mapping[str, Any]]:
    """Yield the columns of a release with its ranges imputed from what is known; once, if it shows none."""
    if not side.ranged:
        yield side.columns
        return
    random = np.random.default_rng(seed)
    for completed in draw_columns(side.ranged, list(known), draws=draws, random=random):
        yield {**side.columns, **completed}
