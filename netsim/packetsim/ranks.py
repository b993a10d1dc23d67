"""Jobs of which each rank goes on by itself, without barriers."""

import numpy as np

from netsim.common.arrays import Ints
from netsim.packetsim.world import Scene
from netsim.topology.base import Topology


def by_rank(scene: Scene, topology: Topology) -> tuple[Scene, Ints]:
    """
    Turn each rank of each job, with a barrier after each step, into a job of its own.

    The ranks of a job are the nodes that it sends from and to. A rank has the steps in which it
    sends or receives; one ends when its own messages have left the NIC and those for it have
    arrived. Result: the ranks, and the job of each, (R,).
    """
    step = np.repeat(np.arange(scene.step_first.size - 1), np.diff(scene.step_first))
    job = np.searchsorted(scene.job_first, step, side="right") - 1
    n_nodes, n_steps = topology.n_nodes, scene.step_first.size
    sender = job * n_nodes + topology.link_tail[scene.links[scene.indptr[:-1]]]
    receiver = job * n_nodes + topology.link_head[scene.links[scene.indptr[1:] - 1]]
    sends, gets = sender * n_steps + step, receiver * n_steps + step
    tasks, place = np.unique(np.concatenate([sends, gets]), return_inverse=True)
    out, into = place[: step.size], place[step.size :]
    order = np.argsort(out, kind="stable")
    ranks, first = np.unique(tasks // n_steps, return_index=True)
    hops = np.diff(scene.indptr)
    rows = np.concatenate([np.arange(scene.indptr[f], scene.indptr[f + 1]) for f in order])
    bounds = np.arange(tasks.size + 1)
    receives = np.argsort(into[order], kind="stable")
    found = Scene(
        indptr=np.concatenate([[0], np.cumsum(hops[order])]),
        links=scene.links[rows],
        channels=scene.channels[rows],
        nbytes=scene.nbytes[order],
        step_first=np.searchsorted(out[order], bounds),
        job_first=np.append(first, tasks.size),
        into=into[order],
        receives=receives,
        receive_first=np.searchsorted(into[order][receives], bounds),
        ways=scene.ways,
    )
    return found, ranks // n_nodes
