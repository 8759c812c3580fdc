"""The driver: a study's cells as concurrent tasks of Prefect, each stage run by DVC.

`graph` (stages of dvc.yaml), `record` (state of cells, in files), `work` (running stages),
`commands` (their processes), `causes` and `progress` (parsing their output), `limits`
(concurrency), `stopping`, `drive` (order and retries), `results` (table and report).
"""
