"""Build the site: ``sphinx-build -W docs OUT``. FABRICSIM_DOCS_EXECUTE=off runs no notebook."""

import atexit
import os
import shutil
import sys
import tempfile
from importlib.metadata import version as version_of
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "hooks"))

import api  # noqa: E402

# Cells of notebooks find the command, the examples, a terminal of 80 columns, and draw SVG.
IPYTHON = Path(tempfile.mkdtemp())
shutil.copytree(HERE / "hooks" / "profile", IPYTHON / "profile_default")
atexit.register(shutil.rmtree, IPYTHON, ignore_errors=True)
os.environ["IPYTHONDIR"] = str(IPYTHON)
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
os.environ["FABRICSIM_CLONE"] = str(HERE.parent)
os.environ["COLUMNS"] = "80"

project = "fabricsim"
copyright = "the fabricsim contributors"  # noqa: A001 (Sphinx reads this name)
version = release = version_of("fabricsim")

extensions = [
    "api",
    "mathml",
    "registries",
    "shell_cells",
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
]
exclude_patterns = ["hooks", "_build", "**/.ipynb_checkpoints"]
templates_path = ["templates"]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
smartquotes = False  # `--json` stays what it is
html_math_renderer = "mathml"

nb_execution_mode = os.environ.get("FABRICSIM_DOCS_EXECUTE", "auto")
suppress_warnings = ["myst-nb.lexer"] if nb_execution_mode == "off" else []
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 600
nb_output_stderr = "remove"  # progress
nb_ipywidgets_js = {}

autodoc_typehints = "none"  # numpydoc states types
autosummary_generate = True
default_role = "literal"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

copybutton_prompt_text = r"\$ "
copybutton_prompt_is_regexp = True
copybutton_selector = ":not(.output) > div.highlight pre"

html_theme = "pydata_sphinx_theme"
html_title = f"fabricsim {version}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_theme_options = {
    "header_links_before_dropdown": 7,
    "icon_links": [
        {
            "name": "Source",
            "url": "https://github.com/fabricsim/fabricsim",
            "icon": "fa-brands fa-github",
        }
    ],
    "logo": {"text": f"fabricsim {version}"},
    "navigation_with_keys": False,
    "show_prev_next": True,
    "show_toc_level": 2,
}

api.write_pages(HERE / "reference" / "api")
