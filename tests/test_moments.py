"""Variances against NumPy, and against exact arithmetic where the mean is large."""

from fractions import Fraction

import numpy as np
import pytest

import gpureduce


def exact_variance(elements, ddof=0):
    """The variance of real elements as a Fraction."""
    exact = [Fraction(float(x)) for x in elements]
    mean = sum(exact) / len(exact)
    return sum((x - mean) ** 2 for x in exact) / (len(exact) - ddof)


@pytest.mark.parametrize("n", [1, 2, 63, 4097])
def test_a_large_mean_costs_no_digits(n, device):
    elements = 1e8 + np.random.default_rng(n).uniform(-1, 1, n)
    exact = exact_variance(elements)
    got = Fraction(float(gpureduce.var(elements, device=device)))
    assert abs(got - exact) <= 2 * Fraction(2) ** -53 * exact
