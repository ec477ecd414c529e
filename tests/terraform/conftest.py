"""The plan of the root with every kind of thing in it, made once; and once more with all that can be switched on."""

from collections.abc import Iterator

import pytest

from tests.terraform.plans import Plan, Terraform, terraform
from tests.terraform.sample import SWITCHED, VARIABLES


@pytest.fixture(scope="session")
def tf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terraform]:
    with terraform(tmp_path_factory.mktemp("terraform")) as found:
        if isinstance(found, str):
            pytest.skip(found)
        yield found


@pytest.fixture(scope="session")
def plan(tf: Terraform) -> Plan:
    return tf.plan(VARIABLES)


@pytest.fixture(scope="session")
def switched(tf: Terraform) -> Plan:
    return tf.plan(SWITCHED)
