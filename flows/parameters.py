"""What the parameters of flows may be, so that Prefect's pages offer it as choices."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from pipeline.checkout import find_root
from pipeline.config.study_files import study_files
from pipeline.errors import UserError


def _offer_studies(schema: dict[str, Any]) -> None:
    """List the studies of the checkout in a parameter's schema; outside of one, none."""
    try:
        schema["enum"] = list(study_files(find_root()))
    except UserError:
        return


StudyName = Annotated[str, Field(json_schema_extra=_offer_studies)]
"""The name of a study in ``studies/``; a deployment offers those that were there when it was made,
and its server refuses others."""
