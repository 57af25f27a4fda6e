"""
Another prevalence than in training
===================================

Training data are often balanced by hand: as many sick as healthy. Where the model is used, one in
twenty may be sick. Its probabilities are then wrong in a way that Bayes' rule can mend, without
training anew: :func:`kinlearn.with_prior`. This example shows the reliability of the probability
of the rare class, before and after.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss

from kinlearn import LSPCCV, with_prior
from kinlearn.plots import PALETTE, subplots

# %%
# A large population in which one case in twenty is of class 1; the training set has 300 of each.

X, y = make_classification(
    20_000,
    n_features=6,
    n_informative=4,
    weights=[0.95],
    class_sep=0.7,
    flip_y=0,
    random_state=3,
)
sick, healthy = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
train = np.concatenate([sick[:300], healthy[:300]])
# The rows that are left, thinned so that class 1 keeps its share.
X_test = np.concatenate([X[sick[300:900]], X[healthy[300:11700]]])
y_test = np.repeat([1, 0], [600, 11400])

model = LSPCCV().fit(X[train], y[train])
in_use = with_prior(model, {0: 0.95, 1: 0.05})

# %%
# For cases that are given about the same probability of class 1, how many are of class 1?

figure, axes = subplots(panel_size=(5.4, 4.4))
ax = axes[0, 0]
ax.plot([0, 1], [0, 1], "--", color="#8A8A8A", linewidth=1, label="perfectly calibrated")
edges = np.linspace(0, 1, 11)
for color, (name, used) in zip(
    (PALETTE[1], PALETTE[0]),
    {"as trained, on half and half": model, "for one in twenty": in_use}.items(),
    strict=True,
):
    proba = used.predict_proba(X_test)[:, 1]
    place = np.clip(np.digitize(proba, edges) - 1, 0, 9)
    counts = np.bincount(place, minlength=10)
    full = counts >= 20
    said = np.bincount(place, proba, minlength=10)[full] / counts[full]
    seen = np.bincount(place, y_test, minlength=10)[full] / counts[full]
    ax.plot(said, seen, "o-", color=color, label=name, linewidth=2)
    print(f"{name:29} mean probability {proba.mean():.3f}  log-loss {log_loss(y_test, proba):.3f}")
print(f"{'true share of class 1':29} {y_test.mean():17.3f}")
ax.set(xlabel="Stated probability of class 1", ylabel="Share of class 1", xlim=(0, 1))
ax.legend(frameon=False, fontsize=9)
plt.show()

# %%
# As trained, the model says "60 %" where hardly anyone is of class 1: it still believes that every
# second case is. With the prevalence put right, stated and true shares come close, and the mean
# probability is near the true share. The order of the cases is the same; no label of the new
# population was needed, only its prevalence. Bayes' rule mends this one change alone: each class
# must look as it did in training.
