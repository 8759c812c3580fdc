"""What the parameters of flows may be, so that Prefect's pages offer it as choices."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated

from pydantic import GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core.core_schema import CoreSchema

from pipeline.base.errors import UserError
from pipeline.config.study_files import study_files
from pipeline.ops.driver.checkout import find_root


class _Offered:
    """Lists the studies of the checkout in a parameter's schema; outside of one, none.

    A marker of its own: Prefect adds a schema to the ``Field`` of a parameter, and pydantic drops
    the one of two that is a function.
    """

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        schema = handler(core)
        with suppress(UserError):
            schema["enum"] = list(study_files(find_root()))
        return schema


StudyName = Annotated[str, _Offered()]
"""The name of a study in ``studies/``; a deployment offers those that were there when it was made,
and its server refuses others."""
