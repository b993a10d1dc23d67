"""What a result says of itself."""

from types import SimpleNamespace

import pytest

from coupling.results.remarks import accuracy_lines, accuracy_of
from netsim.accuracy import Setting


@pytest.mark.parametrize(("model", "told"), [("exact", True), ("fast", False)])
def test_a_run_under_exact_says_that_states_were_compared_and_not_runs(model, told):
    setting = Setting(model, "per-sender", "full fat-tree", ("d-mod-k",), (1,), 65536.0)
    result = SimpleNamespace(name="one", summary={"network": setting.to_dict()})

    (line,) = accuracy_lines([result])

    assert ("were states of a machine, as estimate simulates them; runs" in line) is told
    assert accuracy_of(result)["accuracy"] == line
