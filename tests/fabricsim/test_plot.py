"""fs.plot: ordinary Matplotlib axes, on a figure of one's own or a new one."""

import subprocess
import sys

import matplotlib as mpl
import pytest
from coupling_samples import sample
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import fabricsim as fs
from coupling.errors import CouplingError

mpl.use("Agg")
MACHINE = fs.topology({"kind": "torus", "dims": [2]})


@pytest.fixture(scope="module")
def runs():
    """Return Baseline, in which two jobs disturb each other, and an isolating run."""
    return [
        sample(
            "first-free",
            runtimes_s=(7200.0, 3600.0, 1800.0),
            interference_delay_s=(1800.0, 0.0, 0.0),
        ),
        sample("jigsaw"),
    ]


@pytest.fixture
def ax():
    """Return axes of a user's own."""
    return Figure().add_subplot()


def test_pictures_can_be_imported_by_name_and_called():
    """As a reader of the reference does; here in a process that has loaded nothing yet."""
    code = (
        "import fabricsim.plot\n"
        "from fabricsim.plot import gantt\n"
        "assert callable(fabricsim.plot) and fabricsim.plot.gantt is gantt\n"
        "assert dir(fabricsim.plot) == ['blame', 'fabric', 'gantt', 'link_load', 'speedups']\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603 (our own code)


def test_pictures_are_drawn_on_the_axes_given(runs, ax):
    machine = fs.topology({"kind": "fat-tree", "radix": 4, "levels": 2})

    assert fs.plot.gantt(runs[0], topology=machine, ax=ax) is ax
    assert fs.plot.link_load(runs, ax=Figure().add_subplot()).get_ylabel().startswith("busy")
    assert fs.plot.blame(runs[0], ax=Figure().add_subplot()).get_ylabel() == "victim"
    assert isinstance(fs.plot.fabric(runs[0], ax=Figure().add_subplot()), Axes)
    assert isinstance(fs.plot.fabric(machine, ax=Figure().add_subplot()), Axes)
    assert "first-free" in fs.plot.speedups(runs, ax=Figure().add_subplot()).get_ylabel()


def test_a_moment_is_drawn_with_its_jobs_and_its_blame():
    snapshot = fs.read_snapshot("examples/placed_jobs.json")

    assert (
        fs.plot.fabric(snapshot, ax=Figure().add_subplot()).get_title(loc="left")
        == ("Load and jobs")
        or fs.plot.fabric(snapshot, ax=Figure().add_subplot()).get_title() == "Load and jobs"
    )
    matrix = fs.plot.blame(fs.estimate(snapshot), ax=Figure().add_subplot())
    assert {label.get_text() for label in matrix.get_yticklabels()} == {"stencil", "training"}


def test_without_axes_there_is_a_new_figure(runs):
    from matplotlib import pyplot as plt  # noqa: PLC0415 (as a user does)

    axes = fs.plot.link_load(runs[0])

    assert axes.figure.number in plt.get_fignums()
    plt.close("all")


def test_names_are_no_formulas(runs, ax):
    """Drawing would raise where a name is read as a formula."""
    evil = runs[0].jobs.assign(pattern="$_{$")
    odd = [type(run)("$_{$" + run.name, evil, run.links, run.timeline, run.blame, run.summary)
           for run in runs]  # fmt: skip

    fs.plot.speedups(odd, baseline=odd[0].name, by="pattern", ax=ax)
    ax.figure.canvas.draw()


@pytest.mark.parametrize(
    ("draw", "words"),
    [
        (lambda runs: fs.plot.gantt(runs[0], topology=MACHINE), "gantt: expected jobs"),
        (lambda runs: fs.plot.blame(runs[1]), "expected jobs that cost others time"),
        (lambda runs: fs.plot.fabric(runs[0], fs.topology("cab")), "a topology of 10 links"),
        (
            lambda _: fs.plot.fabric("cab"),
            "expected a Result, a Topology, a Snapshot or an Estimate",
        ),
        (
            lambda runs: fs.plot.speedups(runs[1:]),
            "several runs of the same jobs, got jigsaw",
        ),
        (lambda runs: fs.plot.speedups(runs, by="colour"), "by: expected"),
    ],
)
def test_what_cannot_be_drawn_is_said(runs, draw, words):
    with pytest.raises(CouplingError, match=words):
        draw(runs)
