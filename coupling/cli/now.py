"""The command `now`: what the running jobs of a site do to each other."""

from typing import Any

from coupling.cli import options as of
from coupling.cli.outputs import write_answer


@of.with_groups
def now(
    topology: of.Fabric,
    jobs: of.SiteJobs,
    routing: of.Routing = None,
    samples: of.Samples = 50,
    seed: of.Seed = 1,
    top: of.Top = 20,
    html: of.Page = None,
    out: of.TableFile = None,
    why: of.Why = False,
    as_json: of.AsJson = False,
) -> None:
    """
    Estimate interference among running jobs from site files.

    Example:

      fabricsim now --topology topology.conf --squeue squeue.json
    """
    from coupling.report.now import now_answer
    from coupling.site.now import now_of
    from coupling.site.site import read_site, refuse_two_stdins

    site: dict[str, Any] = (
        {"topology": topology} | vars(jobs) | {"routing": routing, "samples": samples, "seed": seed}
    )
    refuse_two_stdins(site)
    found = now_of(read_site(**site))
    write_answer(
        found,
        lambda rows: now_answer(found, rows, why=why or rows is None),
        top,
        html=html,
        out=out,
        as_json=as_json,
    )
