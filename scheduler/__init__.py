"""Jobs on a machine: workloads, allocators, queue policies, the event loop."""
