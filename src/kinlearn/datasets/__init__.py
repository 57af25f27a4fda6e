from kinlearn.datasets.rotated_labels import make_rotated_labels

__all__ = ["make_rotated_labels"]
