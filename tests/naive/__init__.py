"""The formulas as they are written, slow and plain, for comparison with the fast paths.

One idea a file: `kernels`, the fit of `lspc`, its `posterior`, what is `held_out`, one copy at a
time (`copies`), `tasks`, `labels`, `logistic` regression, `discriminants`, `metrics`, `sequences`,
and the densities of the `toy`.
"""
