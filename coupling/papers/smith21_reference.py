"""Smith21: what the paper prints."""

from collections.abc import Mapping

BASELINE, STRICT = "first-free", "ta, whole leaves"
ORDER = (BASELINE, "lc+s", "jigsaw", "lc", "laas", "ta", STRICT)
SPED_UP = ("jigsaw", "laas", "ta")
LARGE = 100  # nodes; Figure 7 shows jobs of more apart
PAPER_STEADY: Mapping[str, tuple[float, float]] = {  # per cent, section 6.1
    BASELINE: (97, 100),
    "jigsaw": (95, 96),
    "laas": (90, 91),
    "ta": (85, 88),
    STRICT: (85, 88),
}
PAPER_ATLAS_JIGSAW = 92.0
PAPER_MAKESPAN = {"lc+s": 1.05, "jigsaw": 1.06, "laas": 1.08, "ta": 1.14}  # no speed-ups, 6.3
PAPER_BEST = 0.85  # makespan of Jigsaw, "better by up to 15 %"
PAPER_OCT_CAB = {"laas": (1.00, 1.05), "jigsaw": (0.89, 0.95)}  # turnaround at 10 %: all, large
PAPER_TABLE_2 = {  # events from >= 98 % down to < 60 %
    "laas": (4133, 53720, 78072, 52546, 21261, 1717),
    "jigsaw": (54186, 51789, 50299, 36586, 17086, 1503),
    "ta": (20443, 27134, 46923, 68262, 42923, 5764),
}
PAPER_MS = {  # Table 3
    ("synth-16", "ta"): 2.83,
    ("synth-16", "laas"): 2.94,
    ("synth-16", "jigsaw"): 3.05,
    ("synth-16", "lc+s"): 55.5,
    ("thunder", "ta"): 1.28,
    ("thunder", "laas"): 1.06,
    ("thunder", "jigsaw"): 1.04,
    ("thunder", "lc+s"): 53.33,
    ("synth-28", "ta"): 7.09,
    ("synth-28", "laas"): 9.47,
    ("synth-28", "jigsaw"): 9.98,
    ("synth-28", "lc+s"): 255.0,
}
PAPER_TABLE_1 = {  # system nodes, jobs, nodes of the largest, run times from and to in s, arrivals
    "synth-16": ("-", 10_000, 138, 20, 3000, "at once"),
    "synth-22": ("-", 10_000, 190, 20, 3000, "at once"),
    "synth-28": ("-", 10_000, 241, 20, 3000, "at once"),
    "aug-cab": ("1296", 30_691, 257, 1, 86_429, "logged"),
    "sep-cab": ("1296", 87_564, 256, 1, 57_629, "logged"),
    "oct-cab": ("1296", 125_228, 258, 1, 93_623, "logged"),
    "nov-cab": ("1296", 50_353, 256, 1, 86_426, "logged"),
    "thunder": ("1024", 105_764, 965, 1, 172_362, "at once"),
    "atlas": ("1152", 29_700, 1024, 1, 342_754, "at once"),
}
ASSUMED = ("5%", "10%", "20%", "V2", "random")
SUBTRACT = "20%, t(1-x)"  # the other reading of faster by a fifth
SCENARIOS = ("none", *ASSUMED[:3], SUBTRACT, *ASSUMED[3:], "emergent")
