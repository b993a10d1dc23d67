"""The slowdown of two interleaved jobs, as a table."""

import fabricsim as fs

talk = {"pattern": fs.pattern("all-to-all", nbytes="256 KiB"), "compute_s": 1e-3}
jobs = [{"id": "ab"[i], "nodes": range(i, 64, 2), **talk} for i in range(2)]
tree = fs.topology("fat-tree", children=[8, 8], parents=[1, 4])
print(fs.estimate({"topology": tree, "jobs": jobs}).to_frame()[["id", "network_slowdown"]])
