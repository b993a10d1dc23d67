"""What can be named, with a line about each: allocators, routings, patterns and so on."""

from collections.abc import Callable, Mapping
from html import escape
from inspect import getdoc
from typing import Any

from coupling.inputs.plugins import REGISTRIES, load_installed
from netsim.topology.machines import MACHINES
from scheduler.workload.registry import GENERATORS

_LINES: Mapping[str, Mapping[str, str]] = {
    "allocators": {
        "adaptive": "of greedy and balanced the one that costs less (Mishra20)",
        "balanced": "powers of two nodes, so that exchanges stay on a leaf (Mishra20)",
        "closest-fit": "free nodes in a row whose largest gap is least",
        "closest-fit-mind": "free nodes in a row with the least mean distance",
        "compact-contiguous": "the most compact free box of a torus (Yang)",
        "contiguous": "lowest run of free nodes that is long enough",
        "emergent-adaptive": "the placement that the contention model rates best",
        "fifo": "large jobs from the front of the list, small ones from its end",
        "fifo-fit": "First Fit from the front for large jobs, from the end for small",
        "first-fit": "first run of free nodes that is long enough, else two halves",
        "first-free": "lowest-numbered free nodes (Baseline)",
        "greedy": "whole leaves in the order of their communication ratio (Mishra20)",
        "jigsaw": "nodes and links of its own: no interference (Smith21)",
        "laas": "links of its own, three levels reduced to two (LaaS)",
        "largest-fit": "longest runs of free nodes",
        "lc": "links of its own, any number of nodes on a leaf (Smith21)",
        "lc+s": "as lc, with links shared up to 80 % of their bandwidth (Smith21)",
        "non-contiguous": "first free nodes along an ordering of a torus",
        "random": "free nodes at random",
        "slurm-best-fit": "Slurm topology/tree: lowest switch, fullest leaves first",
        "ta": "topology-aware: no two jobs share a link (Pollard18)",
        "torus-chunk": "a free box of a given shape of a torus",
        "varying-fit": "First Fit with a gap that grows with the size of the job",
    },
    "queues": {
        "batsim": "an external scheduler that speaks Batsim's protocol",
        "cautious": "wait for the preferred shape if that pays (Yang)",
        "conservative": "backfilling; every job in the window has a reservation",
        "easy": "EASY backfilling; the first job has a reservation",
        "fcfs": "first come, first served; no backfilling",
        "multifactor": "Slurm's priority by weighted factors; EASY backfilling",
        "partitions": "node sets with a queue and limits each",
        "priority": "by wait, size, requested time or fair share; EASY backfilling",
        "reckless": "all-to-all jobs wait for their preferred shape (Yang)",
        "sjf": "shortest job first; EASY backfilling",
    },
    "patterns": {
        "stencil": "halo exchange with neighbours on a grid",
        "unstructured-mesh": "exchange with the nearest of random points in a cube",
        "pairs": "random pairs of ranks",
        "permutation": "every rank sends one message and receives one",
        "shift": "rank i to rank i + distance",
        "ring": "next and previous rank of a ring",
        "nearest-neighbor": "ranks one below and one above",
        "all-to-all": "every rank to every other (MPI_Alltoall)",
        "sub-all-to-all": "all-to-all along the lines of a grid",
        "one-to-all": "one rank to every other at once",
        "all-to-one": "every rank to one at once (incast)",
        "recursive-doubling": "allreduce: whole vectors at distances 1, 2, 4, ...",
        "rhvd": "allreduce: recursive halving, vector doubling",
        "binomial": "broadcast down a binomial tree",
        "bruck": "allgather by Bruck's algorithm",
        "rabenseifner": "allreduce as in MPICH for long vectors",
        "pairwise": "all-to-all in n - 1 rounds of pairs",
        "allreduce": "MPI_Allreduce, algorithm by size",
        "allgather": "MPI_Allgather, algorithm by size",
        "reduce-scatter": "MPI_Reduce_scatter_block, algorithm by size",
        "broadcast": "MPI_Bcast, algorithm by size",
        "gather": "MPI_Gather",
        "scatter": "MPI_Scatter",
        "hybrid": "weighted sum of patterns in one step",
        "sequence": "patterns one after the other",
        "mix": "collectives as in the experiment sets of Mishra20",
        "matrix": "a measured matrix of messages",
        "gpu-collective": "a collective of GPUs as NCCL runs it, by hosts and adapters",
        "training": "an iteration of training a transformer (DP, TP, PP)",
    },
    "topologies": {
        "fat-tree": "by radix and levels, or PGFT(children; parents; parallel)",
        "gpu-cluster": "hosts of GPUs and adapters: rails, Clos or two planes",
        "torus": "torus or mesh of any dimension",
        "dragonfly": "groups of routers: canonical, Aries and others",
        "dragonfly+": "groups of leaves and spines, joined at the spines",
        "hyperx": "grid of routers, all-to-all along each axis",
        "slim-fly": "2 q² routers, at most two links apart",
        "switch": "one switch with nodes on it",
        "file": "ibnetdiscover, topology.conf, GraphML, CSV and others",
        "aries-edison-like": "dragonfly like Edison, Cray XC30",
        "aries-theta-like": "dragonfly like Theta, Cray XC40",
        "bgq-5d": "5D torus of a Blue Gene/Q",
        "cab": "fat-tree of Cab, 1,296 nodes",
        "fattree-10648": "full fat-tree of 10,648 nodes",
        "hpn-segment": "segment of Alibaba's HPN, 1,024 GPUs in two planes",
        "llama3-roce-24k": "Meta's RoCE cluster of 24,576 GPUs, 7:1 above pods",
        "superpod-4su": "DGX SuperPOD of 4 scalable units, 1,024 GPUs",
        "superpod-16su": "DGX SuperPOD of 16 scalable units, 4,096 GPUs",
        "hector": "3D torus of HECToR, Cray XE6",
        "hopper": "3D torus of Hopper, Cray XE6",
        "pinot": "fat-tree of Pinot, 2,592 nodes",
        "synth-1024": "full fat-tree of 1,024 nodes (Smith21)",
        "synth-2662": "full fat-tree of 2,662 nodes (Smith21)",
        "synth-5488": "full fat-tree of 5,488 nodes (Smith21)",
        "thunder-1458": "full fat-tree of 1,458 nodes (Smith21)",
    },
    "routings": {
        "d-mod-k": "fat-tree, up-port by destination",
        "s-mod-k": "fat-tree, up-port by source",
        "ecmp": "fat-tree, up-ports at random, one path for each flow",
        "least-loaded-per-job": "fat-tree, minimal path with the fewest flows of its own job",
        "shortest": "a shortest path on any fabric",
        "jigsaw": "on links that a job owns, else d-mod-k",
        "dimension-order": "torus or HyperX, one dimension after the other",
        "minimal": "dragonfly, direct to the other group",
        "valiant": "dragonfly, by a random group in between",
        "adaptive": "switches choose the path of each packet by queues",
        "spray": "switches send packets round robin over all shortest paths",
    },
    "models": {
        "fluid": "shares of links with bursts, queues and blocking; the default",
        "flow-level": "every flow of every job, max-min fair (as SimGrid)",
        "packets": "every packet; the reference, for short logs",
        "null": "an infinite network",
        "hop-cost": "for comparison: time grows with hops",
        "assumed": "for comparison: speed-ups that a paper assumes",
    },
    "generators": {
        "synth": "sizes and times of Synth-16, -22 and -28 (Smith21)",
        "laas": "as the example that comes with LaaS",
        "lublin": "model of Lublin and Feitelson",
        "hector-like": "job sizes of HECToR, Cray XE6",
    },
    "readers": {
        "swf": "Standard Workload Format",
        "alea-swf": "Alea: SWF with hosts, queue, nodespec, GPUs or DAGs",
        "sacct": "Slurm: sacct -X -P",
        "squeue-json": "Slurm: squeue --json",
        "csv": "table with a header",
        "parquet": "the same as Parquet, such as jobs.parquet of a result",
        "batsim-json": "workload of Batsim",
        "flux-json": "Flux: flux jobs -a --json",
        "placement-log": "log of placements and removals",
    },
}
KINDS = tuple(_LINES)
_REGISTRY = {"models": "contention_models"}


class Names(dict[str, str]):
    """Names with a line about each, shown one below the other."""

    def __repr__(self) -> str:
        """Return a line for each."""
        width = max(map(len, self), default=0)
        return "\n".join(f"{name:<{width}}  {line}".rstrip() for name, line in self.items())

    def _repr_html_(self) -> str:
        """Return a table for notebooks."""
        rows = (
            f"<tr><td>{escape(name)}</td><td>{escape(line)}</td></tr>"
            for name, line in self.items()
        )
        return f"<table>{''.join(rows)}</table>"


def names_of(kind: str) -> Names:
    """Return a line for each name of a kind, installed plug-ins included."""
    load_installed()
    registry: Mapping[str, Any] = REGISTRIES.get(_REGISTRY.get(kind, kind), GENERATORS)
    names = [*sorted(registry), *(sorted(MACHINES) if kind == "topologies" else ())]
    lines = _LINES[kind]
    return Names({name: lines.get(name) or _first_line(registry[name]) for name in names})


def _first_line(made: Callable[..., object]) -> str:
    """Return the first line of a docstring."""
    return (getdoc(made) or "").partition("\n")[0].rstrip(".")
