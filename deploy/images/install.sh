#!/bin/sh
# Fills the virtual environment of an image; steps of the Dockerfile's build stages.
#   install.sh EXTRA...          the locked packages of these extras, by hash
#   install.sh --only NAME...    these locked packages and what they need
#   install.sh FILE.whl          the project itself
#   install.sh --check           fails unless all that the installed packages require is there
#   install.sh --kafka           Spark's Kafka connector and the broker's jars, from Maven Central
set -eu
pip() { /tools/bin/pip --python /opt/gesscale/bin/python --disable-pip-version-check "$@"; }
site=$(/opt/gesscale/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
case $1 in
  *.whl)
    pip install -q --no-deps "$1" ;;
  --check)
    pip check ;;
  --kafka)
    /opt/gesscale/bin/python - <<'PYTHON'
import shutil
from importlib.resources import files
from pathlib import Path
from testbed.pipeline.kafka_jars import broker_jars, connector_jars

spark = Path(str(files("pyspark"))) / "jars"
for jar in connector_jars().paths:
    shutil.copy(jar, spark)
broker = Path("/opt/kafka")
broker.mkdir()
for jar in broker_jars().paths:
    shutil.copy(jar, broker)
PYTHON
    ;;
  *)
    python3 locked.py pyproject.toml requirements.lock "$@" > chosen.txt
    pip install -q --no-deps --only-binary :all: --no-binary pyspark --require-hashes -r chosen.txt
    # The packages' tests, headers and examples are a fifth of the image and never imported by what runs in it. Not so
    # pyspark/testing: pyspark.sql imports it.
    find "$site" -depth -type d \( -name tests -o -name test \) ! -path '*/pyspark/*' -exec rm -rf {} +
    rm -rf "$site"/pyarrow/include "$site"/numpy/_core/include "$site"/pyspark/examples "$site"/pyspark/data ;;
esac
