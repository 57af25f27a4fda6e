"""Measures of probabilities, case by case."""

import numpy as np


def naive_ece(y, proba, classes, n_bins, weight):
    """Σ over bins of their share of weight times |accuracy - mean confidence|."""
    total = 0.0
    confidence, predicted = proba.max(axis=1), classes[proba.argmax(axis=1)]
    for b in range(n_bins):
        inside = [
            i
            for i in range(len(y))
            if b / n_bins < confidence[i] <= (b + 1) / n_bins and weight[i] > 0
        ]
        if inside:
            mass = sum(weight[i] for i in inside)
            accuracy = sum(weight[i] * (y[i] == predicted[i]) for i in inside) / mass
            mean = sum(weight[i] * confidence[i] for i in inside) / mass
            total += mass / weight.sum() * abs(accuracy - mean)
    return total


def naive_risk(y, proba, classes, weight, threshold):
    """The share of wrong answers among cases at least as sure as the threshold."""
    confidence, wrong = proba.max(axis=1), classes[proba.argmax(axis=1)] != y
    answered = confidence >= threshold
    return (weight * wrong * answered).sum() / np.sum(weight * answered)
