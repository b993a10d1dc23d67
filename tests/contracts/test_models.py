"""What every contention model promises."""

import pytest

from coupling.checks.check import breaches
from coupling.checks.models import RULES, scene_of
from netsim.registries.contention_models import CONTENTION_MODELS, make_contention_model

BELOW_1 = {"packets": "has the ratio 0.99"}  # it says so: a packet may be quicker among others


@pytest.mark.parametrize("name", CONTENTION_MODELS)
def test_a_model_keeps_every_rule(name):
    scene = scene_of(lambda topology: make_contention_model(name, topology))

    broken = [sentence for _, sentence in breaches(RULES, scene)]

    assert [text for text in broken if BELOW_1.get(name, text + ".") not in text] == []
