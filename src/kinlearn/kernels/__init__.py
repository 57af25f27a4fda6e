"""Kernels, their widths, and their evaluation in blocks of bounded memory."""

from kinlearn.kernels.evaluation import KernelMap
from kinlearn.kernels.library import KERNELS, Kernel, resolve_kernel

__all__ = ["KERNELS", "Kernel", "KernelMap", "resolve_kernel"]
