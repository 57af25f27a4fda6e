"""
What a model looks at
=====================

A kernel that sees all columns alike spends its rows on columns that say nothing. ``metric=``
learns from the gradient of a first fit along which columns the classes change, and gives the
kernels another look in that metric; ``feature_relevance_`` tells what was learnt.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import log_loss

from kinlearn import LSPCCV
from kinlearn.plots import FeatureRelevanceDisplay

# %%
# Ten columns, two of which decide: one by a wave, one by its sign. The other eight are noise.

rng = np.random.default_rng(0)
X, X_new = rng.normal(size=(300, 10)), rng.normal(size=(3000, 10))


def label(rows):
    """1 where a wave of the first column plus the second one is positive."""
    return (np.sin(2 * rows[:, 0]) + rows[:, 1] > 0).astype(int)


y, y_new = label(X), label(X_new)

# %%
# The same kernels, with and without a metric. Its blocks are further points of the stack, weighed
# by held-out scores of rows that the metric was not learnt from: where it does not help it gets no
# weight.

plain = LSPCCV(metric=None).fit(X, y)
seeing = LSPCCV(metric="diagonal").fit(X, y)
losses = {
    "plain": log_loss(y_new, plain.predict_proba(X_new)),
    "in a learnt metric": log_loss(y_new, seeing.predict_proba(X_new)),
}
for name, loss in losses.items():
    print(f"{name:20s} log-loss {loss:.3f}")

# %%
# The relevance of a column is one on average. The two that matter stand out.

display = FeatureRelevanceDisplay.from_estimator(seeing)
plt.show()

# %%
# The eight columns of noise are not switched off: a metric from 300 rows is an estimate, and a
# column that gets little is seen little. Where no column matters more than another the bars are
# level, and the stack leaves the metric alone.
