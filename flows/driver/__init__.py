"""The driver: a study's cells side by side as tasks of Prefect, each stage run by DVC.

`graph` (the stages of dvc.yaml), `record` (how far cells are, in files), `work` (running stages),
`commands` (their processes), `causes` and `progress` (what they say), `limits` (how many at once),
`stopping`, `drive` (what runs when, and again), `results` (what it leaves).
"""
