import contextlib
import os

import numpy as np
import pytest

# The same examples in every run of continuous integration; elsewhere new ones, to find new faults.
# The site and the clients of others are tested where hypothesis is not installed.
if os.environ.get("CI"):
    with contextlib.suppress(ImportError):
        from hypothesis import settings

        settings.register_profile("ci", derandomize=True, deadline=None)
        settings.load_profile("ci")


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def three_classes(rng):
    """Sixty rows of four positive features in three overlapping classes."""
    y = np.repeat([0, 1, 2], 20)
    X = np.abs(rng.normal(size=(60, 4)) + y[:, None] * [1.0, 0.5, 0.0, -0.3] + 1.0)
    return X, y


@pytest.fixture(scope="module")
def one_kernel_tables():
    """Training from tables is quick in this file: one kernel in the plain metric."""
    from one_kernel import tables_with_one_kernel

    with tables_with_one_kernel():
        yield
