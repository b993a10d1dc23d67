"""Short commands load and compile only what they need, and end without delay."""

import subprocess
import sys
from pathlib import Path

from small_run import write_small


def test_help_answers_without_loading_numpy():
    """--help must be instant: no numeric library is loaded."""
    code = (
        "import sys\nsys.argv = ['fabricsim', '--help']\n"
        "from coupling.cli.root import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "heavy = {'numpy', 'pandas', 'numba', 'scipy', 'matplotlib', 'networkx'}\n"
        "assert not heavy & sys.modules.keys(), heavy & sys.modules.keys()\n"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)  # noqa: S603

    assert done.returncode == 0, done.stderr
    assert "run" in done.stdout


def test_the_end_of_a_command_looks_through_nothing_for_garbage():
    """A fifth of a second, after everything has been said."""
    code = (
        "import atexit, gc, sys\nsys.argv = ['fabricsim', '--help']\n"
        "atexit.register(lambda: print('left', sum(map(len, map(gc.get_objects, range(3))))))\n"
        "from coupling.cli.root import main\nmain()\n"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603

    assert int(done.stdout.rpartition("left ")[2]) < 2000


def test_an_estimate_answers_without_loading_pandas():
    """A quarter of a second, for tables that it does not have."""
    code = (
        "import sys, coupling.report.estimate, coupling.site.estimate\n"
        "heavy = {'pandas', 'matplotlib', 'networkx', 'scipy.linalg', 'simpy'}\n"
        "heavy &= sys.modules.keys()\n"
        "assert not heavy, heavy\n"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)  # noqa: S603

    assert done.returncode == 0, done.stderr


def test_an_estimate_of_the_shipped_snapshot_loads_little():
    snapshot = Path(__file__).parents[3] / "examples/placed_jobs.json"
    code = (
        "import sys\nfrom pathlib import Path\n"
        f"sys.argv = ['fabricsim', 'estimate', {str(snapshot)!r}]\n"
        "from coupling.cli.root import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code\n"
        "slow = {'pandas', 'networkx', 'matplotlib', 'simpy', 'scipy.stats'} & sys.modules.keys()\n"
        "assert not slow, slow\n"
        "tasks = Path('/proc/self/task')\n"
        "assert not tasks.exists() or len(list(tasks.iterdir())) == 1, 'threads of numpy'\n"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)  # noqa: S603

    assert done.returncode == 0, done.stderr
    assert "training" in done.stdout


def test_a_small_run_leaves_alone_what_is_slow_to_load(tmp_path):
    """A tree of neighbours, for its meshes, takes a third of a second; nothing is drawn."""
    write_small(tmp_path)
    arguments = ["fabricsim", "run", "try.toml", "--set", "run.self_check=false", "--out"]
    slow = ["scipy.spatial", "scipy.sparse", "scipy.stats", "networkx", "bokeh", "matplotlib"]
    code = (
        f"import sys\nsys.argv = [*{arguments}, sys.argv[1]]\n"
        "from coupling.cli.root import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code\n"
        f"slow = {set(slow)} & sys.modules.keys()\n"
        "assert not slow, slow\n"
    )

    command = [sys.executable, "-c", code, "out"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)  # noqa: S603

    assert done.returncode == 0, done.stderr


def test_all_names_of_the_package_load_no_library_that_is_slow_to_load():
    code = (
        "import sys\nfrom fabricsim import *\n"
        "slow = {'pandas', 'pyarrow', 'matplotlib', 'networkx', 'numba', 'scipy', 'rich'}\n"
        "assert not slow & sys.modules.keys(), slow & sys.modules.keys()\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603 (our own code)
