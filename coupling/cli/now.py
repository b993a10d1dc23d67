"""The command `now`: what the running jobs of a site do to each other."""

from typing import Any

from coupling.cli import options as of
from coupling.cli.outputs import print_json, print_parts


@of.with_groups
def now(
    topology: of.Fabric,
    jobs: of.SiteJobs,
    routing: of.Routing = None,
    draws: of.Draws = 50,
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
    from coupling.inputs.files import write_table, write_whole
    from coupling.report.now import now_html, terminal_parts
    from coupling.site.now import now_of
    from coupling.site.site import read_site, refuse_two_stdins

    site: dict[str, Any] = (
        {"topology": topology} | vars(jobs) | {"routing": routing, "draws": draws, "seed": seed}
    )
    refuse_two_stdins(site)
    found = now_of(read_site(**site))
    if html is not None:
        write_whole(html, now_html(found))
    if out is not None:
        write_table(out, found.to_frame())
    if as_json:
        print_json(found.to_dict())
    else:
        print_parts(*terminal_parts(found, top, why=why))
