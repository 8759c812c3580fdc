"""The schema of a study, its expansion into cells, and the one reader of ``params.yaml``.

A study file in ``studies/`` names its sources, data, models, training recipe, evaluation tasks and
grid. :func:`pipeline.config.expand.expand` resolves it into one mapping per stage, so that DVC
reruns exactly what an edit affects.
"""
