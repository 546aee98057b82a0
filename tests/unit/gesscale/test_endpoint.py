import json
import subprocess
import sys
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from gesscale.endpoint import Endpoint, json_body


def _refuse(parameters):
    raise ValueError(f"no use: {parameters['after'][0]}")


def _fail(_parameters):
    raise RuntimeError("gone")


@pytest.fixture
def endpoint():
    pages = {"/ok": json_body, "/refuse": _refuse, "/fail": _fail}
    served = Endpoint("127.0.0.1", 0, pages)
    yield served
    served.close()


def test_pages_get_their_parameters(endpoint):
    with urlopen(f"{endpoint.url}/ok?after=7", timeout=5) as answer:
        assert json.load(answer) == {"after": ["7"]}
        assert answer.headers["Content-Type"] == "application/json"


@pytest.mark.parametrize(
    ("path", "status", "text"),
    [("/none", 404, "/ok"), ("/refuse?after=x", 400, "no use: x"), ("/fail", 500, "RuntimeError: gone")],
)
def test_what_goes_wrong_is_told_to_who_asked(endpoint, path, status, text):
    with pytest.raises(HTTPError) as caught:
        urlopen(f"{endpoint.url}{path}", timeout=5)
    with caught.value as answer:
        assert (answer.code, text in answer.read().decode()) == (status, True)


def test_a_port_in_use_is_an_error_of_the_system(endpoint):
    with pytest.raises(OSError, match="in use"):
        Endpoint("127.0.0.1", endpoint.port, {})


def test_importing_the_package_loads_nothing_heavy():
    code = (
        "import sys, gesscale.spark; "
        "print(*sorted({'pyspark', 'py4j', 'pandas', 'pyarrow', 'prometheus_client'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == ""
