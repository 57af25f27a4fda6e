"""Kernels, their widths, and their evaluation in blocks of bounded memory."""

from kinlearn.kernels.evaluation import KernelMap
from kinlearn.kernels.library import KERNELS, Kernel, resolve_kernel
from kinlearn.kernels.width import median_width

__all__ = ["KERNELS", "Kernel", "KernelMap", "median_width", "resolve_kernel"]
