"""Sessions with the hook."""

from __future__ import annotations

import shutil

import pytest

from tests.hook.session import POLICY, Session, end_residents


@pytest.fixture(scope="session")
def home(tmp_path_factory):
    """Return one home folder for all, so that a policy is compiled once."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def session(tmp_path, home):
    found = Session(tmp_path, home)
    found.write("team.policy", POLICY)
    yield found
    end_residents(found.runtime)
    shutil.rmtree(found.runtime, ignore_errors=True)  # one that ends may still write there


@pytest.fixture
def alone(tmp_path):
    """Return a session with a home folder of its own."""
    found = Session(tmp_path, None)
    found.write("team.policy", POLICY)
    yield found
    end_residents(found.runtime)
    shutil.rmtree(found.runtime, ignore_errors=True)  # one that ends may still write there
