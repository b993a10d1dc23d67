"""Flows: routes, rates and finish times of given flows, from a JSON document."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from coupling.errors import SnapshotError
from coupling.inputs.fabric import routing_of, topology_of
from coupling.inputs.files import Table
from coupling.inputs.messages import message_bytes
from fabricsim.checking import brief
from fabricsim.checking.documents import json_value
from netsim.common.arrays import Tabled
from netsim.common.errors import NetsimError
from netsim.flows.maxmin import FAIRNESS
from netsim.flowsim.flow_report import FlowReport, report_flows
from netsim.routing.multipath import as_routed
from netsim.topology.base import Topology
from netsim.topology.multipath import link_names
from netsim.topology.rails import flow_endpoints

_FLOW = 3  # source, destination, bytes


@dataclass(frozen=True, slots=True, eq=False)
class Flows(Tabled):
    """
    What given flows get that start together.

    Parameters
    ----------
    topology : Topology
        The fabric.
    flows : list of (source, destination, bytes)
        Nodes and sizes.
    report : FlowReport
        Routes, loads, rates and finish times.
    """

    topology: Topology
    flows: list[tuple[int, int, float]]
    report: FlowReport

    def __repr__(self) -> str:
        end_s = self.report.finish_s.max(initial=0.0)
        return f"<Flows: {len(self.flows)} flows, over after {end_s:g} s>"

    def _table_rows(self) -> list[dict[str, Any]]:
        """Return the flows: ends, bytes, links crossed, rate at the start, seconds to the end."""
        report, name = self.report, self.topology.vertex_name
        columns = (report.routes.hops.tolist(), report.rates.tolist(), report.finish_s.tolist())
        return [
            {
                "source": name(source),
                "destination": name(destination),
                "bytes": nbytes,
                "hops": hops,
                "rate_bytes_per_s": rate,
                "finish_s": finish_s,
            }
            for (source, destination, nbytes), hops, rate, finish_s in zip(
                self.flows, *columns, strict=True
            )
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return what `fabricsim flows --json` prints."""
        report, name = self.report, link_names(self.topology)
        return {
            "rates_bytes_per_s": json_value(report.rates.tolist()),
            "finish_s": report.finish_s.tolist(),
            "routes": [
                [name(link) for link in report.routes.of_flow(flow).tolist()]
                for flow in range(report.routes.n_flows)
            ],
            "links": [
                {
                    "link": name(link),
                    "flows": int(report.link_flows[link]),
                    "bytes": float(report.link_bytes[link]),
                }
                for link in np.flatnonzero(report.link_flows).tolist()
            ],
        }


def answer_flows(document: Mapping[str, Any], source: str, folder: Path) -> Flows:
    """Route flows that start together and simulate them to their ends."""
    table = Table(document, f"{source}:", SnapshotError)
    topology = topology_of(table, folder)
    routing = routing_of(table, topology, folder, table.integer("seed", 1), owned=False)
    fairness = table.text("fairness", "per-sender", FAIRNESS)
    entries = table.raw("flows")
    table.finish()
    if not isinstance(entries, (list, tuple)):
        raise table.error("flows", "a list of [source, destination, bytes]")
    flows = [_read_flow(table, i, entry, topology) for i, entry in enumerate(entries)]
    src, dst, nbytes = zip(*flows, strict=True) if flows else ((), (), ())
    rail = [_read_rail(table, i, entry, topology, dst[i]) for i, entry in enumerate(entries)]
    if any(own is None for own in rail) and any(own is not None for own in rail):
        raise table.fault("flows", "expected a rail for every flow or for none.")
    known = np.array(rail, dtype=np.int64) if rail and rail[0] is not None else None
    ends = np.array(src, dtype=np.int64), np.array(dst, dtype=np.int64)
    try:
        report = report_flows(
            topology,
            routing,
            *flow_endpoints(topology, *ends, known),
            np.array(nbytes, dtype=np.float64),
            fairness=fairness,
        )
    except NetsimError as error:
        raise table.fault("flows", str(error)) from None
    return Flows(as_routed(topology, routing), flows, report)


def _read_flow(
    table: Table, place: int, entry: object, topology: Topology
) -> tuple[int, int, float]:
    """Read one flow."""
    where = f"flows[{place}]"
    if not isinstance(entry, list) or not _FLOW <= len(entry) <= _FLOW + 1:
        raise table.fault(
            where, f"expected [source, destination, bytes] and perhaps a rail, got {brief(entry)}."
        )
    try:
        src, dst = (topology.names.node(end) for end in entry[:2])
        return src, dst, message_bytes(entry[2])
    except NetsimError as error:
        raise table.fault(where, str(error)) from None


def _read_rail(
    table: Table, place: int, entry: list[Any], topology: Topology, dst: int
) -> int | None:
    """Read the rail of a flow, None where none is given."""
    if len(entry) == _FLOW:
        return None
    rail = entry[_FLOW]
    first = topology.node_links[1]
    count = int(first[dst + 1] - first[dst])
    if isinstance(rail, bool) or not isinstance(rail, int) or not 0 <= rail < count:
        raise table.fault(
            f"flows[{place}]",
            f"expected a rail from 0 to {count - 1}, the links of "
            f"{topology.vertex_name(dst)}, got {brief(rail)}.",
        )
    return rail
