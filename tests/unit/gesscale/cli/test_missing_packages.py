"""Every command that needs an extra, without its packages: one line with the remedy, and exit code 2."""

import json
import subprocess
import sys

from edge import delays

from gesscale.extras import how_to_install
from latency_map import write_csv

WITHOUT = [
    "confluent_kafka", "jinja2", "kubernetes", "matplotlib", "pandas", "ping3", "py4j",
    "pyarrow", "pyspark", "sklearn", "statsmodels",
]  # fmt: skip
EACH = """
import contextlib, io, json, sys
for package in json.loads(sys.argv[1]):
    sys.modules[package] = None  # what an import then meets is a ModuleNotFoundError
from gesscale.cli.start import main
answers = []
for words in json.loads(sys.argv[2]):
    sys.argv = ["gesscale", *words.split()]
    printed = io.StringIO()
    with contextlib.redirect_stderr(printed), contextlib.redirect_stdout(io.StringIO()):
        try:
            main()
        except SystemExit as ended:
            answers.append((ended.code, printed.getvalue()))
print(json.dumps(answers))
"""
NEEDS = {
    "run --kubernetes": "controller",
    "explain nearest --kubernetes": "controller",
    "testbed workflow": "spark",
    "testbed nexmark": "spark",
    "testbed league --results live": "spark",
    "testbed chaos --results chaos": "spark",
    "latency-map show map.csv --unit ms --kind rtt --picture map.png": "arena",
    "latency-map show map.csv --unit ms --kind rtt --heat-map map.png --output json": "arena",
    "latency-map measure --source a --target b=127.0.0.1 --method icmp": "controller",
    "recommend -c settings.yaml --policy daedalus": "arena",
    "recommend -c settings.yaml --policy autrascale": "arena",
}
SETTINGS = """
workflow: {operators: {a: {driver_node: hub, metrics_url: "http://127.0.0.1:9"}}}
latency_map: {file: map.csv, unit: ms, kind: rtt}
"""


def test_a_command_without_its_package_names_the_extra(tmp_path):
    write_csv(delays(), tmp_path / "map.csv")
    (tmp_path / "settings.yaml").write_text(SETTINGS)
    done = subprocess.run(
        [sys.executable, "-c", EACH, json.dumps(WITHOUT), json.dumps([*NEEDS])],
        cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for (words, extra), (code, complaint) in zip(NEEDS.items(), json.loads(done.stdout), strict=True):
        assert code == 2, (words, complaint)
        (line,) = (line for line in complaint.splitlines() if "package-missing" in line)
        assert how_to_install(extra) in line or line.startswith("error[icmp-package-missing]"), words


def test_a_command_without_typer_names_the_extra():
    code = "import sys; sys.modules['typer'] = None; from gesscale.cli.start import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert how_to_install("controller") in done.stderr
