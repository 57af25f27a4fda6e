"""The features that the papers' experiments rest on, as scikit-learn transformers.

Sounds (extra ``audio``): :class:`MFCCFrames`, then :class:`HiddenMarkovKernel` or
:class:`CodebookHistogram`. Images (extra ``image``): :class:`LocalDescriptors`, then
:class:`CodebookHistogram`. Importing this package imports none of the extras.
"""

from kinlearn.features.codebook import CodebookHistogram
from kinlearn.features.hidden_markov import HiddenMarkovKernel
from kinlearn.features.local_descriptors import LocalDescriptors
from kinlearn.features.mfcc import MFCCFrames

__all__ = ["CodebookHistogram", "HiddenMarkovKernel", "LocalDescriptors", "MFCCFrames"]
