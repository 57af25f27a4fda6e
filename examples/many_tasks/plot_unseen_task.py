"""
A task never seen, and its first labels
=======================================

A new clinic asks for predictions on its first day, without a single label. Multi-task LSPC answers
with what the other tasks have in common. Then labels come in, and the new task is added to the
fitted model without touching the others. This example follows the new task from its first day on,
beside a model that has its own labels alone.
"""

from copy import deepcopy

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import log_loss

from kinlearn import LSPCCV, MultiTaskLSPCCV
from kinlearn.datasets import make_related_tasks
from kinlearn.plots import subplots

# %%
# Nine tasks, of which the last is new. The eight others have 30 labels each. All is repeated on
# five draws.

LABELS = (0, 5, 10, 20, 40, 80)
NEW = 8
losses = {"added to the others": [], "its own labels alone": []}
for seed in range(5):
    X, y, task = make_related_tasks(
        n_tasks=9, n_samples=500, n_features=3, relatedness=0.8, random_state=seed
    )
    place = np.tile(np.arange(500), 9)
    old = (task != NEW) & (place < 30)
    first_days = (task == NEW) & (place < 80)
    X_new, y_new = X[first_days], y[first_days]
    test = (task == NEW) & (place >= 80)

    others = MultiTaskLSPCCV().fit(X[old], y[old], task=task[old])
    for curve in losses.values():
        curve.append([])
    for n in LABELS:
        model = deepcopy(others)
        if n:
            model.add_task(X_new[:n], y_new[:n], NEW)
        proba = model.predict_proba(X[test], task=task[test])
        losses["added to the others"][-1].append(log_loss(y[test], proba))
        if n:
            proba = LSPCCV().fit(X_new[:n], y_new[:n]).predict_proba(X[test])
        else:
            proba = np.full((test.sum(), 2), 0.5)
        losses["its own labels alone"][-1].append(log_loss(y[test], proba))

# %%
# Without labels there is no model of its own: a coin toss. Bands go from the best draw to the
# worst.

figure, axes = subplots(panel_size=(5.6, 4.0))
ax = axes[0, 0]
places = np.arange(len(LABELS))
means = {name: np.mean(curves, axis=0) for name, curves in losses.items()}
for (name, mean), marker in zip(means.items(), "os", strict=True):
    ax.plot(places, mean, marker=marker, linewidth=2, label=name)
    ax.fill_between(
        places, np.min(losses[name], axis=0), np.max(losses[name], axis=0), alpha=0.12, linewidth=0
    )
    print(f"{name:22}", *(f"{value:.3f}" for value in mean))
ax.set_xticks(places, LABELS)
ax.set(xlabel="Labels of the new task", ylabel="Log-loss on its new rows", ylim=(0.2, 1.3))
ax.legend(frameon=False)
plt.show()

# %%
# Adding a task changes nothing for the others, not by a bit:

before = others.predict_proba(X[old], task=task[old])
added = deepcopy(others).add_task(X_new, y_new, NEW)
print("other tasks unchanged:", np.array_equal(before, added.predict_proba(X[old], task=task[old])))

# %%
# On its first day the new task is already better off than with twenty labels and no relatives. Its
# own labels then improve on that, and even with eighty of them the others still help.
