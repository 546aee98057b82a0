#!/bin/sh
# Fills the virtual environment of an image; steps of the Dockerfile's build stages.
#   install.sh EXTRA...          the locked packages of these extras, by hash, for the platform TARGETARCH if it is set
#   install.sh --only NAME...    these locked packages and their dependencies
#   install.sh FILE.whl          the project itself
#   install.sh --check           fails if a requirement of the installed packages is missing
#   install.sh --kafka FOLDER    into folders there: Spark's Kafka connector, and the broker's jars, from Maven Central
set -eu
site=$(/opt/gesscale/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
pip() { /tools/bin/pip --python /opt/gesscale/bin/python --disable-pip-version-check "$@"; }
install() { # OPTION...: with --target pip installs wheels of another platform, and programs below the packages
  pip install -q --no-deps --no-compile --target "$site" "$@"
  [ ! -d "$site/bin" ] || { cp -r "$site/bin/." /opt/gesscale/bin && rm -r "$site/bin"; }
}
compile() { # by the sources' hashes, not their times, so that builds are reproducible. Files that do not compile are skipped
  /opt/gesscale/bin/python -m compileall -q --invalidation-mode unchecked-hash "$site" >/dev/null || :
}
platforms() { # from the oldest glibc of wheels to that of Debian 12
  case ${TARGETARCH:-} in amd64) machine=x86_64 ;; arm64) machine=aarch64 ;; *) return 0 ;; esac
  for minor in $(seq 36 -1 17); do echo --platform "manylinux_2_${minor}_$machine"; done
  echo --platform "manylinux2014_$machine" --platform "linux_$machine"
}
case $1 in
  *.whl)
    install "$1"
    compile ;;
  --check)
    pip check ;;
  --kafka)
    /opt/gesscale/bin/python - "$2" <<'PYTHON'
import shutil
import sys
from pathlib import Path
from testbed.pipeline.kafka_jars import broker_jars, connector_jars

for name, jars in {"spark": connector_jars(), "kafka": broker_jars()}.items():
    folder = Path(sys.argv[1]) / name
    folder.mkdir(parents=True)
    for jar in jars:
        shutil.copy(jar, folder)
PYTHON
    ;;
  *)
    python3 locked.py pyproject.toml requirements.lock "$@" > chosen.txt
    # shellcheck disable=SC2046 # words of an option each
    install --only-binary :all: --no-binary pyspark --require-hashes $(platforms) -r chosen.txt
    # Tests, headers and examples of the packages are a fifth of the image and never imported, except pyspark/testing, which
    # pyspark.sql imports.
    find "$site" -depth -type d \( -name tests -o -name test \) ! -path '*/pyspark/*' -exec rm -rf {} +
    rm -rf "$site"/pyarrow/include "$site"/numpy/_core/include "$site"/pyspark/examples "$site"/pyspark/data ;;
esac
