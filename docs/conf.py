"""The site: pages in Markdown, the API from docstrings, the gallery from examples/.

Nothing here or in the built pages reaches for the network: MathJax is copied from a package, fonts
are the reader's own, and there are no links into other projects' inventories.
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

from public_names import class_members  # noqa: E402

import kinlearn  # noqa: E402

project = "kinlearn"
author = "The kinlearn developers"
copyright = "The kinlearn developers, BSD-3-Clause"
version = release = kinlearn.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "code_links",
    "inline_svg",
    "repository_links",
    "shapes",
]
exclude_patterns = ["_build", "_ext", "_templates", "api/generated/backreferences"]
templates_path = ["_templates"]
nitpicky = True
# Quotes in the types of parameters are Python's.
smartquotes = False
# Words of numpydoc's "See Also" or of types are not references; those that are must resolve.
nitpick_ignore_regex = [(r"py:.*", r"(numpy|scipy|sklearn|matplotlib|pandas|dask)\..*")]

# -- Markdown -----------------------------------------------------------------------------------
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "attrs_inline", "attrs_block"]
# Links such as page.md#a-heading, which also work where the Markdown is read as it is.
myst_heading_anchors = 4

# -- API ----------------------------------------------------------------------------------------
autosummary_generate = True
autosummary_context = {"class_members": class_members()}
# Beside the function plan; some file systems do not tell capitals apart.
autosummary_filename_map = {"kinlearn.planning.Plan": "kinlearn.planning.Plan-class"}
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
add_module_names = False

# -- Gallery ------------------------------------------------------------------------------------
SECTIONS = ["one_task", "many_tasks", "many_labels", "different_features", "at_scale"]
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "backreferences_dir": "api/generated/backreferences",
    "doc_module": ("kinlearn",),
    "subsection_order": [*(f"../examples/{name}" for name in SECTIONS), "*"],
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "show_memory": False,
    # The page of run times would load scripts from the network, and times are this machine's.
    "write_computation_times": False,
    "min_reported_time": 3600,
    "download_all_examples": False,
    "remove_config_comments": True,
    "plot_gallery": "True",
}

# -- Pages --------------------------------------------------------------------------------------
html_theme = "pydata_sphinx_theme"
MARK = "_static/mark.svg"
html_title = "kinlearn"
html_static_path = ["_static"]
html_css_files = ["kinlearn.css"]
html_favicon = MARK
html_show_sourcelink = False
html_copy_source = False
# Summaries would be fetched page by page, which a browser refuses for pages opened from disk.
html_show_search_summary = False
html_sidebars = {"**": ["sidebar-nav-bs"], "index": [], "which_estimator": []}
html_context = {"default_mode": "auto"}
toc_object_entries_show_parents = "hide"
html_theme_options = {
    "logo": {"text": "kinlearn", "image_light": MARK, "image_dark": MARK},
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "show_prev_next": True,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "primary_sidebar_end": [],
    "footer_start": ["copyright"],
    "footer_end": [],
}


def setup(app):
    """Let MathJax draw formulas as SVG: it then needs no font files, from disk or elsewhere."""
    app.config.mathjax_path = "mathjax/tex-svg.js"
