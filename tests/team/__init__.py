"""The servers of docker/compose.yaml as processes of this machine, with moto's emulator for S3.

Here `server` (a program that is restarted when it ends), `postgres`, and `servers` (which there
are, and what each needs). `python -m tests.team FOLDER`, in a checkout, runs them until a signal.
"""
