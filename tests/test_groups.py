"""Tests that run side by side: those of a file share a process, and what they prepare."""

import pytest


def test_the_tests_of_a_file_go_to_one_process(request: pytest.FixtureRequest) -> None:
    if not request.config.getoption("loadgroup", False):
        pytest.skip("tests run in one process, or are not grouped: --dist loadgroup groups them")
    assert request.node.nodeid.endswith("@test_groups.py")
