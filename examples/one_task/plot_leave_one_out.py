"""
Every held-out score, without refitting
=======================================

Leave-one-out is the most honest use of few labels, and the most expensive one: a fit for every
row. For least squares it has a closed form, and kinlearn uses it everywhere: to tune, to mix, to
calibrate and to bound errors. This example checks the closed form against refitting, row by row,
and compares the time both take.
"""

from time import process_time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from kinlearn import LSPC
from kinlearn.plots import PALETTE, subplots

X, y = load_wine(return_X_y=True)
X = StandardScaler().fit_transform(X)
order = np.random.default_rng(0).permutation(len(y))
X, y = X[order], y[order]

# %%
# By refitting: the row is left out as a row *and* as a centre of the kernel. A row that stays as a
# centre would still vouch for itself.


def refit_for_every_row(X, y):
    scores = np.empty((len(y), 3))
    for i in range(len(y)):
        kept = np.arange(len(y)) != i
        model = LSPC(sigma=3.0, reg=1e-3, posterior="raw").fit(X[kept], y[kept])
        scores[i] = model.decision_function(X[i : i + 1])
    return scores


# %%
# In closed form: ``held_out_scores_`` of one fit.

SIZES = (40, 80, 160)
LSPC().fit(X[:20], y[:20])  # so that no measurement pays for the first call
seconds = {"one fit, closed form": [], "a fit for every row": []}
for size in SIZES:
    started = process_time()
    model = LSPC(sigma=3.0, reg=1e-3).fit(X[:size], y[:size])
    seconds["one fit, closed form"].append(process_time() - started)
    started = process_time()
    scores = refit_for_every_row(X[:size], y[:size])
    seconds["a fit for every row"].append(process_time() - started)
gap = np.abs(model.held_out_scores_ - scores).max()
print(f"largest difference over {scores.size} scores: {gap:.0e}")
print(
    f"time at {size} rows, refitting / closed form: "
    f"{seconds['a fit for every row'][-1] / seconds['one fit, closed form'][-1]:.0f}"
)

# %%
# Left: the held-out scores of the three classes, by both ways. Right: what they cost.

figure, axes = subplots(1, 2, panel_size=(4.1, 3.7))
left, right = axes[0]
ends = [scores.min() - 0.1, scores.max() + 0.1]
left.plot(ends, ends, "--", color="#8A8A8A", linewidth=1)
for k, marker in enumerate("osd"):
    left.scatter(
        scores[:, k],
        model.held_out_scores_[:, k],
        s=18,
        alpha=0.6,
        marker=marker,
        color=PALETTE[k],
        linewidth=0,
        label=f"class {k}",
    )
left.set(xlabel="Held-out score by refitting", ylabel="Held-out score in closed form")
left.legend(frameon=False, fontsize=9)
for (name, values), marker in zip(seconds.items(), "os", strict=True):
    right.loglog(SIZES, values, marker=marker, linewidth=2, label=name)
right.set_xticks(SIZES, SIZES)
right.minorticks_off()
right.set(xlabel="Rows", ylabel="Processor seconds")
right.legend(frameon=False, fontsize=9)
plt.show()

# %%
# The two agree to rounding error, at the cost of one fit instead of one for every row, and the
# ratio grows with the rows. The same decomposition then serves every regularisation of a search.
