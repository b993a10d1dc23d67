"""Damaged files: an error that names the file, or a correct graph; never a silent loss."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netsim.common.errors import TopologyError
from netsim.formats.importers.registry import FORMATS, read_topology
from netsim.formats.importers.sketch import Settings

DATA = Path(__file__).parents[3] / "data" / "topo"
SAMPLES = {path.name: path.read_text() for path in sorted(DATA.iterdir())}
FORM_OF = {name: read_topology(DATA / name).origin.form for name in SAMPLES}
REAL = [
    "psmn-x5-ibnetdiscover.txt.gz",
    "iitk-hpc2010-topology.conf",
    "llnl-cab-nodes.csv",
    "nersc-hopper-nodemap.txt.gz",
    "alcf-theta-interconnect.txt.gz",
]
QUICK = settings(deadline=None, max_examples=25)


def check_words(error):
    """Demand a line that names the file and fits on a screen."""
    assert "FILE" in str(error)
    assert len(str(error)) < 500


def read(form, text):
    """Read a file; None where it is refused, in words that name it."""
    try:
        topology = FORMATS[form](text, "FILE", Settings())
    except TopologyError as error:
        check_words(error)
        return None
    size = topology.n_nodes + topology.n_switches
    ends = np.concatenate([topology.link_tail, topology.link_head])
    assert 0 <= ends.min() <= ends.max() < size
    assert np.array_equal(topology.capacity[topology.reverse], topology.capacity)
    assert topology.capacity.min() > 0
    labels = topology.origin.labels
    assert len(labels) == len(set(labels)) == size
    return topology


def cables(topology):
    """Return every cable in service by the names of its ends and its capacity, sorted."""
    there = np.ones(topology.n_links, dtype=bool)
    if topology.absent is not None:
        there[topology.absent] = False
    names = topology.origin.labels
    return sorted(
        (names[topology.link_tail[link]], names[topology.link_head[link]], topology.capacity[link])
        for link in np.flatnonzero(there).tolist()
    )


@pytest.mark.parametrize("name", sorted(SAMPLES))
@QUICK
@given(st.data())
def test_a_file_cut_short_is_refused_or_read(name, data):
    text = SAMPLES[name]

    read(FORM_OF[name], text[: data.draw(st.integers(0, len(text)))])


@pytest.mark.parametrize("name", sorted(SAMPLES))
@QUICK
@given(st.data())
def test_a_file_with_letters_changed_is_refused_or_read(name, data):
    letters = list(SAMPLES[name])
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(letters) - 1))
        letters[place] = data.draw(st.sampled_from("0123456789abn[]-,=:#\"'<>(){}\n\t \\\x00é"))

    read(FORM_OF[name], "".join(letters))


@pytest.mark.parametrize("name", sorted(SAMPLES))
@QUICK
@given(st.data())
def test_a_file_with_lines_exchanged_moved_or_lost_is_refused_or_read(name, data):
    lines = SAMPLES[name].split("\n")
    for _ in range(data.draw(st.integers(1, 3))):
        a, b = (data.draw(st.integers(0, len(lines) - 1)) for _ in range(2))
        if data.draw(st.booleans()):
            lines[a], lines[b] = lines[b], lines[a]
        else:
            lines[a] = ""

    read(FORM_OF[name], "\n".join(lines))


@pytest.mark.parametrize("form", sorted(FORMATS))
@QUICK
@given(
    st.one_of(
        st.text(max_size=80),
        st.text(alphabet='node,switchleafpod=[]0123:-\n\t "#<>/gr', max_size=80),
        st.binary(max_size=80).map(lambda data: data.decode("latin-1")),
    )
)
def test_any_text_is_refused_or_read(form, text):
    read(form, text)


@QUICK
@given(st.binary(max_size=60))
def test_any_bytes_are_refused_or_read(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("hostile") / "FILE"
    for content in (data, gzip.compress(data, mtime=0), b"\x1f\x8b" + data):
        path.write_bytes(content)
        try:
            read_topology(path)
        except TopologyError as error:
            check_words(error)


HEADERS = {"nodemap.txt": 1, "nodes.csv": 1, "edges.csv": 2}
PLAIN = ("aries.txt", "edges.csv", "nodemap.txt", "nodes.csv", "topology-blocks.conf")


@pytest.mark.parametrize("name", ["aries.txt", "edges.csv", "nodemap.txt"])
@QUICK
@given(st.randoms(use_true_random=False))
def test_the_order_of_lines_does_not_matter(name, random):
    lines = SAMPLES[name].rstrip("\n").split("\n")
    body = lines[HEADERS.get(name, 0) :]
    random.shuffle(body)
    shuffled = "\n".join([*lines[: HEADERS.get(name, 0)], *body])

    assert cables(read(FORM_OF[name], shuffled)) == cables(read(FORM_OF[name], SAMPLES[name]))


@pytest.mark.parametrize("name", ["topology.conf", "ibnetdiscover.txt"])
@QUICK
@given(st.randoms(use_true_random=False))
def test_the_order_of_switches_does_not_matter(name, random):
    """Blocks of `ibnetdiscover`, and lines of topology.conf that stand together."""
    text = SAMPLES[name].replace("\\\n", "")
    parts = text.split("\n" if name.endswith("conf") else "\n\n")
    head, body = parts[:1], parts[1:]
    random.shuffle(body)
    shuffled = ("\n" if name.endswith("conf") else "\n\n").join([*head, *body])

    assert cables(read(FORM_OF[name], shuffled)) == cables(read(FORM_OF[name], text))


@pytest.mark.parametrize("name", [*PLAIN, "topology.conf", "ibnetdiscover.txt"])
@QUICK
@given(st.data())
def test_a_line_that_comes_twice_is_refused(name, data):
    """Two reports of one thing contradict each other, or are parallel cables: nobody can tell."""
    lines = SAMPLES[name].replace("\\\n", "").rstrip("\n").split("\n")
    first = HEADERS.get(name, 0)
    silent = ("#", "sysimgguid", "switchguid", "caguid")
    says = [i for i in range(first, len(lines)) if lines[i] and not lines[i].startswith(silent)]
    again = data.draw(st.sampled_from(says))
    at = data.draw(st.integers(again, len(lines) if name != "ibnetdiscover.txt" else again))
    lines.insert(at, lines[again])

    assert read(FORM_OF[name], "\n".join(lines)) is None


@pytest.mark.parametrize("name", REAL)
@settings(deadline=None, max_examples=4)
@given(st.data())
def test_real_files_cut_shuffled_and_doubled_are_refused_or_read(shared, name, data):
    path = shared(f"data/topo/{name}")
    packed = path.read_bytes()
    text = (gzip.decompress(packed) if path.suffix == ".gz" else packed).decode()
    form = read_topology(path).origin.form
    lines = text.split("\n")
    damage = data.draw(st.sampled_from(["cut", "shuffle", "double"]))
    if damage == "cut":
        text = text[: data.draw(st.integers(0, len(text)))]
    elif damage == "shuffle":
        data.draw(st.randoms(use_true_random=False)).shuffle(lines)
        text = "\n".join(lines)
    else:
        place = data.draw(st.integers(0, len(lines) - 2))
        text = "\n".join([*lines[: place + 1], *lines[place:]])

    read(form, text)


def test_a_name_of_a_node_and_of_a_switch_is_refused():
    """Else a cable to the one would be one to the other."""
    text = "node,leaf\na,l1\nl1,l1\nb,l2\nc,l2\n"

    with pytest.raises(TopologyError, match="FILE: 'l1' is the name of a node and of a switch"):
        FORMATS["node-csv"](text, "FILE", Settings())


def test_an_empty_name_is_refused():
    text = SAMPLES["ring.graphml"].replace('source="0"', 'source=""')

    with pytest.raises(TopologyError, match="FILE: expected a name for every node"):
        FORMATS["graphml"](text, "FILE", Settings())
