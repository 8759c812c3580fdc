"""Types of flow parameters, offered as choices on Prefect's pages."""

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

    A separate marker, as Prefect adds a schema to the parameter's ``Field``, and pydantic drops one
    of two if it is a function.
    """

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        schema = handler(core)
        with suppress(UserError):
            schema["enum"] = list(study_files(find_root()))
        return schema


StudyName = Annotated[str, _Offered()]
"""The name of a study in ``studies/``; a deployment offers those at its making, and its server
refuses others.
"""
