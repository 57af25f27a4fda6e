"""Kernels, their widths, and their evaluation in blocks of bounded memory."""

from kinlearn.kernels.evaluation import KernelMap
from kinlearn.kernels.library import KERNELS, Kernel, median_width, resolve_kernel

__all__ = ["KERNELS", "Kernel", "KernelMap", "median_width", "resolve_kernel"]
