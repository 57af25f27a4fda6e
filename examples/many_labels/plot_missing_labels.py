"""
Labels nobody looked at
=======================

Annotators rarely tick every box. A label that nobody looked at is not a *no*, yet filling it with
0 is common, and dropping incomplete rows leaves next to none. ``NaN`` in Y means unobserved, and
:class:`~kinlearn.MultiLabelLSPC` learns from the labels that are there. This example hides more
and more labels, and compares that with filling in zeros and with learning each label by itself.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import log_loss

from kinlearn import LSPC, MultiLabelLSPC
from kinlearn.datasets import make_rotated_labels
from kinlearn.plots import PALETTE, subplots

# %%
# Ten overlapping labels of 150 rows; 1,000 further rows, completely labelled, are for testing. A
# label of a row is hidden where its random number lies below the share to hide.

X, Y = make_rotated_labels(1150, n_labels=10, n_features=6, random_state=0)
X_train, X_test, Y_test = X[:150], X[150:], Y[150:]
luck = np.random.default_rng(0).uniform(size=(150, 10))
together = MultiLabelLSPC(sharing=0.99)


def each_alone(Y_train):
    """One classifier a label, from the rows in which it was observed."""
    columns = []
    for labels in Y_train.T:
        seen = ~np.isnan(labels)
        columns.append(LSPC().fit(X_train[seen], labels[seen]).predict_proba(X_test)[:, 1])
    return np.column_stack(columns)


# %%
# First a look at 60 % hidden. Rows are sorted by their angle in the plane that decides the labels.
# Above: what is observed, blue for *on*, light for *off*, white where nobody looked. Middle: the
# probabilities of the model that has seen only this. Below: all labels of these rows.

Y_train = np.where(luck < 0.6, np.nan, Y[:150])
found = together.fit(X_train, Y_train).predict_proba(X_train)
by_angle = np.argsort(np.arctan2(X_train[:, 1], X_train[:, 0]))
figure, axes = subplots(3, 1, panel_size=(6.4, 1.5), sharex=True)
titles = ("observed", "probabilities found", "the truth")
for ax, table, title in zip(axes[:, 0], (Y_train, found, Y[:150]), titles, strict=True):
    image = ax.imshow(table[by_angle].T, aspect="auto", cmap="Blues", vmin=-0.15, vmax=1.1)
    ax.set(title=title, ylabel="Label", yticks=[])
    ax.grid(False)
axes[-1, 0].set_xlabel("Row, sorted by angle")
plt.show()

hidden = np.isnan(Y_train)
right = (found > 0.5) == Y[:150]
print(f"hidden labels of these rows that are told rightly: {right[hidden].mean():.1%}")

# %%
# Now new rows, as more and more labels of the training rows are hidden.

SHARES = np.array([0, 0.2, 0.4, 0.6, 0.8])
losses = {
    "together, NaN is unobserved": [],
    "each label alone": [],
    "together, zeros filled in": [],
}
for share in SHARES:
    Y_train = np.where(luck < share, np.nan, Y[:150])
    filled = np.nan_to_num(Y_train)
    answers = (
        together.fit(X_train, Y_train).predict_proba(X_test),
        each_alone(Y_train),
        together.fit(X_train, filled).predict_proba(X_test),
    )
    for values, proba in zip(losses.values(), answers, strict=True):
        values.append(log_loss(Y_test.ravel(), proba.ravel()))
    complete = (luck >= share).all(axis=1).sum()
    print(f"{share:.0%} hidden, complete rows: {complete}")

figure, axes = subplots(panel_size=(5.6, 4.0))
ax = axes[0, 0]
for (name, values), marker, color in zip(losses.items(), "osd", PALETTE, strict=False):
    ax.plot(SHARES, values, marker=marker, linewidth=2, color=color, label=name)
    print(f"{name:27}", *(f"{value:.3f}" for value in values))
ax.set(xlabel="Share of labels hidden", ylabel="Log-loss on complete rows", ylim=(0, None))
ax.xaxis.set_major_formatter("{x:.0%}")
ax.legend(frameon=False, fontsize=9)
plt.show()

# %%
# Zeros that nobody wrote teach the model that labels are rarer than they are, and the damage grows
# with every one. Left unobserved, the same gaps cost little, and up to 60 % hidden it pays to
# learn the labels together: a label that was looked at speaks for its neighbours. With four in
# five hidden, sharing (its degree is fixed here) no longer gains anything. Complete rows alone
# would not have been a way out: there are none left.
