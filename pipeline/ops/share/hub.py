"""Sending a model to a hub, by huggingface_hub."""

from __future__ import annotations

from pathlib import Path

from pipeline.base.errors import TransientError, UserError, first_line

_KEPT = {".gitattributes"}
"""What a hub puts into a new repository."""
_MEANINGS = {
    401: "it does not accept the token; set HF_TOKEN to a valid one",
    403: "the token may not write there; name a repository of your own, or use another token",
    409: "the name is taken; choose another with --push",
    413: "it is too large for this hub; its limits are said at its documentation",
}
_AGAIN = "run the same command again with --force to go on"


def check_name(repository: str) -> None:
    """Refuse what names no repository, before the work.

    Raises:
        UserError: If it does not, or there is no token.
    """
    from huggingface_hub import get_token
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]

    try:
        validate_repo_id(repository)
    except HFValidationError:
        repository = ""
    if repository.count("/") != 1:
        raise UserError("--push: names no repository; allowed: OWNER/NAME")
    if get_token() is None:
        raise UserError("--push: there is no token; set HF_TOKEN to one that may write")


def push_folder(folder: Path, repository: str) -> str:
    """Send a folder to a new repository in one commit; return its address.

    Where sending was cut off, the repository is empty, and sending it again goes on.

    Raises:
        UserError: If the name is taken, or the hub refuses.
    """
    import httpx
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    api = HfApi()
    try:
        api.create_repo(repository, exist_ok=True)
        if set(api.list_repo_files(repository)) - _KEPT:
            raise UserError(f"{repository}: {_MEANINGS[409]}")
        api.upload_folder(folder_path=folder, repo_id=repository)
    except HfHubHTTPError as error:
        status = error.response.status_code
        meaning = _MEANINGS.get(status, _AGAIN)
        kind = UserError if status in _MEANINGS else TransientError
        raise kind(f"{repository}: {api.endpoint} answers {status}: {meaning}") from None
    except (httpx.HTTPError, OSError, RuntimeError, ValueError) as error:
        text = f"{repository}: {api.endpoint} broke off ({first_line(error)})"
        raise TransientError(f"{text}; {_AGAIN}") from None
    return f"{api.endpoint}/{repository}"
