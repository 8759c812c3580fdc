"""What a study would take on a cluster, before it runs: accelerators, hours, dollars, disk."""
