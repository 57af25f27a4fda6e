"""
Sharing between tasks as labels grow
====================================

Eight clinics, eight sensors, eight customers: related tasks with few labels each. One model for
each task has too few labels; one model for all of them is wrong about each. Multi-task LSPC lies
between the two and finds out by itself how much to share. This example shows all three as the
number of labels grows.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import log_loss

from kinlearn import LSPCCV, IndependentTasks, MultiTaskLSPCCV, PooledTasks
from kinlearn.datasets import make_related_tasks
from kinlearn.plots import subplots

# %%
# Eight generated tasks with a part in common and a part of their own. The first rows of every task
# are for training, the last 250 for testing.

LABELS = (5, 10, 20, 40)
ALONE = LSPCCV(kernel="rbf", metric=None)
MODELS = {
    "sharing": MultiTaskLSPCCV(kernel="rbf"),
    "each task alone": IndependentTasks(ALONE),
    "one pooled model": PooledTasks(ALONE),
}
N_SEEDS = 2


def draw(seed, n_labels):
    X, y, task = make_related_tasks(
        n_tasks=8, n_samples=300, n_features=3, relatedness=0.7, random_state=seed
    )
    place = np.tile(np.arange(300), 8)
    train, test = place < n_labels, place >= 50
    return X[train], y[train], task[train], X[test], y[test], task[test]


losses = {name: np.zeros((len(LABELS), N_SEEDS)) for name in MODELS}
for i, n_labels in enumerate(LABELS):
    for seed in range(N_SEEDS):
        X, y, task, X_test, y_test, task_test = draw(seed, n_labels)
        for name, model in MODELS.items():
            model.fit(X, y, task=task)
            proba = model.predict_proba(X_test, task=task_test)
            losses[name][i, seed] = log_loss(y_test, proba, labels=model.classes_)
for i, n_labels in enumerate(LABELS):
    told = ", ".join(f"{name} {table[i].mean():.3f}" for name, table in losses.items())
    print(f"{n_labels:2} labels a task: log-loss {told}")

figure, axes = subplots(panel_size=(5.6, 4.0))
ax = axes[0, 0]
for (name, table), marker in zip(losses.items(), "osd", strict=True):
    ax.plot(LABELS, table.mean(axis=1), marker=marker, linewidth=2, label=name)
ax.set(xscale="log", xlabel="Labels in each task", ylabel="Log-loss on new rows")
ax.set_xticks(LABELS, LABELS)
ax.minorticks_off()
ax.legend(frameon=False)
plt.show()

# %%
# With five labels a task there is nothing to tell the tasks apart by, and sharing does what
# pooling does. From then on it is ahead of both. The pooled model improves slowly, because it
# cannot learn in what the tasks differ. Separate models with forty labels a task are not yet where
# sharing is with twenty.
