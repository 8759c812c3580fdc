"""The schema of a study, its expansion into cells, and the one reader of ``params.yaml``.

A study file in ``studies/`` is complete: it names its sources, data, models, training recipe,
evaluation tasks and grid. :func:`pipeline.config.expand.expand` turns it into what ``params.yaml``
holds: one mapping per stage, each entry fully resolved, so that DVC reruns exactly what an edit
touches.
"""
