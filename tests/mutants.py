"""Documents with something wrong in them, for tests of what reads them."""

import copy
import json

from hypothesis import strategies as st

JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 20),
    st.sampled_from([1e308, -1.0, 0.3, 1e-300, float("nan"), float("inf"), 10**30, 2**63]),
    st.sampled_from(
        [
            "",
            "n[0-3]",
            "n[",
            "n99",
            "1 GiB",
            "flow-level",
            "jigsaw",
            "cab",
            "all-to-all",
            "a",
            "\ud800",
        ]
    ),
    st.sampled_from([[], {}, [[]], [0, 1], [[0, 1, 5]], {"name": "pairs"}, {"lft": "x"}]),
)


def places(value, path=()):
    """Return the paths of all values inside a document."""
    yield path
    if isinstance(value, (dict, list)):
        inside = value.items() if isinstance(value, dict) else enumerate(value)
        for key, entry in inside:
            yield from places(entry, (*path, key))


def mutate(document, path, junk, how):
    """Replace, delete or double the value at a place, or put junk beside it."""
    target = document
    for key in path[:-1]:
        target = target[key]
    last = path[-1]
    if how == "delete":
        del target[last]
    elif how == "beside" and isinstance(target, list):
        target.insert(last, junk)
    elif how == "double" and isinstance(target, list):
        target.insert(last, copy.deepcopy(target[last]))
    else:
        target[last] = junk


@st.composite
def mutants(draw, document):
    """Return a document with one or two values replaced, deleted, doubled or put in, via JSON."""
    document = copy.deepcopy(document)
    for _ in range(draw(st.integers(1, 2))):
        path = draw(st.sampled_from(list(places(document))[1:]))
        how = draw(st.sampled_from(["replace", "replace", "delete", "beside", "double"]))
        mutate(document, path, copy.deepcopy(draw(JUNK)), how)
    return json.loads(json.dumps(document))
