"""Models as ONNX graphs, for runtimes without Python."""

from kinlearn.export.convert import to_onnx
from kinlearn.export.skl2onnx_converters import register_onnx_converters

__all__ = ["register_onnx_converters", "to_onnx"]
