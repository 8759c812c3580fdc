"""The servers that a team shares, on one machine, without Docker.

Here `server` (a program that is kept running), `postgres`, `secrets` (made once, read by their
owner alone) and `team` (which servers there are, and what each needs). docker/compose.yaml has the
same ones in containers.
"""
