"""The artifact store beyond this machine: remotes, transfers, upkeep."""
