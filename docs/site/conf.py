"""Sphinx's settings; build.py calls it."""

import re
from pathlib import Path

import gpureduce

project = "gpureduce"
author = copyright = "gpureduce developers"
version = release = gpureduce.__version__
extensions = ["sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc", "myst_nb"]

html_theme = "furo"
# The pictures' dark background is that of code hosts.
html_theme_options = {"dark_css_variables": {"color-background-primary": "#0d1117"}}
html_favicon = "static/favicon.svg"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_search_scorer = str(Path(__file__).with_name("scorer.js"))
html_title = f"gpureduce {version}"
html_copy_source = False
html_show_sphinx = False
default_role = "py:obj"
add_module_names = False
highlight_language = "python"

autodoc_typehints = "none"  # numpydoc's sections have them
autodoc_member_order = "bysource"
autosummary_generate = False  # build.py writes the pages
numpydoc_show_class_members = False

myst_enable_extensions = ["attrs_inline"]
myst_heading_anchors = 4
nb_execution_mode = "off"  # the notebooks are committed with their outputs
nb_render_markdown_format = "myst"  # tables among them

PAGE = re.compile(r"\b(docs/[\w-]+/[\w-]+)\.md\b")


def link_pages(app, what, name, obj, options, lines):
    """Turn the pages that a docstring names by path, such as docs/explanation/streams.md, into links."""
    lines[:] = [PAGE.sub(r":doc:`/\1`", line) for line in lines]


def setup(app):
    """Connect it behind numpydoc's own handler, which makes reStructuredText of the sections."""
    app.connect("autodoc-process-docstring", link_pages, priority=900)
