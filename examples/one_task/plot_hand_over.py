"""
Answer what is sure, hand over the rest
=======================================

A wrong answer often costs more than a question to a person. With probabilities that can be
trusted, the unsure cases can be handed over. The risk-coverage curve shows what is left to gain:
the error among the cases answered, against the share of cases answered.
:class:`~kinlearn.HandOver` picks the point on it for you, such that the error among answered cases
is bounded. The promise is made from the training rows alone; this example checks it on rows that
were not used.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

from kinlearn import LSPCCV, HandOver
from kinlearn.plots import PALETTE, RiskCoverageDisplay, subplots

# %%
# Handwritten digits with some noise, so that there is something to be unsure about. At most 3 % of
# the answers may be wrong, and this shall hold for 95 of 100 training sets.

X, y = load_digits(return_X_y=True)
X = X / 16 + np.random.default_rng(0).normal(scale=0.2, size=X.shape)
X_train, X_test, y_train, y_test = train_test_split(
    X, y, train_size=600, random_state=0, stratify=y
)
careful = HandOver(LSPCCV(), max_error=0.03, confidence=0.95).fit(X_train, y_train)
print(
    f"promised from {len(y_train)} training rows: answers {careful.coverage_:.0%} of cases, "
    f"error at most {careful.error_bound_:.1%}"
)

# %%
# On new rows:

found = careful.assess(X_test)
wrong = found.predicted != y_test
error = wrong[found.answered].mean()
print(
    f"on {len(y_test)} test rows: answers {found.answered.mean():.0%}, "
    f"error among answered {error:.1%}, error if all were answered {wrong.mean():.1%}"
)

figure, axes = subplots(panel_size=(6.0, 4.2))
ax = axes[0, 0]
RiskCoverageDisplay.from_estimator(careful, X_test, y_test, name="LSPC", ax=ax)
naive = GaussianNB().fit(X_train, y_train)
RiskCoverageDisplay.from_estimator(naive, X_test, y_test, name="naive Bayes", ax=ax)
ax.axhline(careful.max_error, color="#333333", linewidth=1, linestyle="--")
ax.text(0.02, careful.max_error, "allowed", va="bottom", fontsize=9, color="#333333")
ax.plot(
    found.answered.mean(),
    error,
    "o",
    markersize=10,
    color=PALETTE[0],
    markeredgecolor="white",
    label="what HandOver answers",
)
ax.legend(frameon=False, fontsize=9, loc="upper left")
plt.show()

# %%
# What is handed over looks the part. Above, the eight least confident cases; below, the eight most
# confident ones. Over each stands what the classifier would say, in orange where that is wrong.

order = np.argsort(found.confidence)
figure, axes = subplots(2, 8, panel_size=(0.95, 1.3))
for ax, case in zip(axes.flat, [*order[:8], *order[-8:]], strict=True):
    ax.imshow(X_test[case].reshape(8, 8), cmap="gray_r")
    ax.set_axis_off()
    color = PALETTE[1] if wrong[case] else "#333333"
    ax.set_title(f"{found.predicted[case]}: {found.confidence[case]:.0%}", fontsize=9, color=color)
plt.show()

# %%
# The bound held on the test rows: the error among answered cases is below what was allowed, and
# far below the error of answering everything. The share of cases answered was foretold well. A
# little more could have been answered, as the curve shows; but a promise has to be proven from a
# limited number of rows. Naive Bayes makes more errors, and worse: its curve stays high to the
# left, because it is sure of many wrong answers.
