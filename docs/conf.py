"""How Sphinx builds the site: `make docs`."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

# One BLAS thread and figures without a screen, for the gallery and in its workers.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ["MPLBACKEND"] = "agg"

import headstart  # noqa: E402

project = "headstart"
author = "The headstart developers"
copyright = f"2026, {author}"  # noqa: A001 - Sphinx's name
version = release = headstart.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "sphinx_llms_txt",
    "docs.building.extension",
]
templates_path = ["_templates"]
exclude_patterns = [
    "_build",
    "building",
    "gallery",
    "generated/**/*.ipynb",
    "**/GALLERY_HEADER.rst",
]

# A name in backquotes in a docstring: a link where it is a public name.
default_role = "name"
smartquotes = False
autodoc_typehints = "signature"
# In signatures of overloads, by name: written out they are ten lines long.
autodoc_type_aliases = {name: name for name in ("ArrayLike", "Arms", "Mask", "Name", "Floats")}
autodoc_preserve_defaults = True
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_param = False
napoleon_custom_sections = [("Attributes", "params_style")]
python_maximum_signature_line_length = 76
toc_object_entries = False
add_module_names = False

myst_enable_extensions = ["deflist", "dollarmath", "amsmath", "colon_fence", "attrs_block"]
myst_heading_anchors = 4
myst_links_external_new_tab = False
suppress_warnings: list[str] = []

sphinx_gallery_conf = {
    "examples_dirs": ["gallery"],
    "gallery_dirs": ["generated/gallery"],
    "filename_pattern": r"/\w+\.py$",
    "backreferences_dir": "generated/backreferences",
    "doc_module": ("headstart",),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "remove_config_comments": True,
    "image_srcset": ["2x"],
    "reference_url": {},
    "write_computation_times": False,
    "within_subsection_order": "docs.building.gallery.position",
    "parallel": 2,
}

html_theme = "pydata_sphinx_theme"
html_title = "headstart"
html_static_path = ["_static"]
html_css_files = ["headstart.css"]
html_extra_path: list[str] = []
html_math_renderer = "drawn"
html_copy_source = True
html_show_sourcelink = False
html_sourcelink_suffix = ""
llms_txt_summary = (
    "Bandits that start warm: a Python library, a command line and a decision service for linear "
    "bandits that learn, from the tasks so far, where the next one should start."
)
html_show_sphinx = False
html_last_updated_fmt = None
html_favicon = "_static/mark.svg"
html_sidebars = {"index": [], "install": []}
html_theme_options = {
    "logo": {
        "text": "headstart",
        "image_light": "_static/mark.svg",
        "image_dark": "_static/mark.svg",
    },
    "navbar_align": "left",
    "header_links_before_dropdown": 8,
    "navbar_start": ["navbar-logo", "version"],
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "show_prev_next": True,
    "show_nav_level": 1,
    "navigation_with_keys": False,
    "back_to_top_button": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_context = {"default_mode": "auto"}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
