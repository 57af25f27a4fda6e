"""Facts about the machine that figures were measured on."""

from kinlearn.machine import machine_facts

__all__ = ["machine_facts"]
