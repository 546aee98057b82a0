#!/usr/bin/env bash
# Installs everything that `make check`, `make demo` and `make test` need, unless it is installed already:
#   setup.sh check     virtual environment with the locked packages
#   setup.sh demo      the same, plus a Java 17+ runtime, iproute2, a C compiler
#   setup.sh test      the same, plus programs for the tests of real adapters: Kafka, Prometheus, Chromium, Kubernetes
#   setup.sh test-all  the same, plus programs for the tests marked "long": network policies and Helm
set -euo pipefail
cd "$(dirname "$0")"
purpose=${1:-demo}
long=no
[ "$purpose" != test-all ] || { purpose=test; long=yes; }
venv=.venv
cache=.cache

log() { printf '\033[1m[setup]\033[0m %s\n' "$*" >&2; }
fail() { printf '[setup] %s\n' "$*" >&2; exit 1; }

apt_updated=no
apt_install() { # PURPOSE PACKAGE...: installs the first available package as root, otherwise names what to install
  local purpose=$1; shift
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    fail "$purpose is missing: install it with the system's packages (Debian, Ubuntu: apt-get install $*), then run this again"
  fi
  if [ $apt_updated = no ]; then log "reading the system's package lists"; apt-get update -qq; apt_updated=yes; fi
  local package
  for package in "$@"; do
    if apt-cache show "$package" >/dev/null 2>&1; then
      log "installing $package ($purpose)"
      DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$package" >/dev/null && return 0
    fi
  done
  fail "$purpose is missing and none of these packages could be installed: $*"
}

find_python() {
  local candidate
  for candidate in "${PYTHON:-}" python3 python3.14 python3.13 python3.12 python3.11; do
    [ -n "$candidate" ] && command -v "$candidate" >/dev/null || continue
    "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo "$candidate"; return; }
  done
  fail "no Python 3.11 or newer was found (looked for python3 and python3.11 to python3.14); install one or set PYTHON"
}

java_is_new_enough() { # the first number of the version, 17 or more
  local java=${JAVA_HOME:+$JAVA_HOME/bin/}java
  command -v "$java" >/dev/null || return 1
  local major; major=$("$java" -version 2>&1 | sed -nE '1,3s/.*version "([0-9]+).*/\1/p' | head -n 1)
  [ "${major:-0}" -ge 17 ]
}

python=$(find_python)
"$python" -c 'import venv, ensurepip' 2>/dev/null || apt_install "Python's venv module" \
  "python$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')-venv" python3-venv
if [ "$purpose" != check ]; then
  java_is_new_enough || apt_install "a Java runtime, 17 or newer" openjdk-21-jre-headless openjdk-17-jre-headless
  command -v ip >/dev/null || apt_install "the ip command" iproute2
  if ! { command -v cc || command -v gcc; } >/dev/null; then
    apt_install "a C compiler, for the relay of the test bed" gcc
    apt_install "the C library's headers" libc6-dev
  fi
fi

unpack() { # FOLDER PACKAGE...: unpacks packages without installing them, which would start servers as services
  local folder=$1; shift
  local downloads=$cache/downloads package
  mkdir -p $downloads
  if { (cd $downloads && apt-get download -qq "$@") ||
       { [ "$(id -u)" = 0 ] && apt-get update -qq && (cd $downloads && apt-get download -qq "$@"); }; } 2>/dev/null; then
    for package in $downloads/*.deb; do dpkg -x "$package" "$folder"; done
  else
    log "could not download $*; tests that need them will be skipped"
  fi
  rm -rf $downloads
}

fetch_programs() { # programs for the tests of real adapters; system packages, one after the other
  if ! { [ -x $cache/prometheus ] && [ -x $cache/promtool ]; } &&
     ! { command -v prometheus && command -v promtool; } >/dev/null; then
    log "fetching Prometheus and promtool for the tests of its adapter and of the alert rules"
    unpack $cache/unpacked prometheus
    for program in prometheus promtool; do
      [ ! -x $cache/unpacked/usr/bin/$program ] || mv $cache/unpacked/usr/bin/$program $cache/$program
    done
    rm -rf $cache/unpacked
  fi
  if ! { [ -x /usr/bin/chromium ] && [ -x /usr/bin/chromedriver ]; }; then
    { [ "$(id -u)" = 0 ] && (apt_install "Chromium and its driver, for the tests of the page and of the arena's report" chromium-driver); } ||
      log "no Chromium: the browser tests of the page and of the arena's report will be skipped"
  fi
  if [ $long = yes ] && ! { command -v iptables && command -v ipset; } >/dev/null; then
    { [ "$(id -u)" = 0 ] && (apt_install "iptables, for the tests of network policies" iptables &&
                             apt_install "ipset, for the tests of network policies" ipset); } ||
      log "no iptables or no ipset: the tests of enforced network policies will be skipped"
  fi
  if ! command -v strace >/dev/null; then
    { [ "$(id -u)" = 0 ] && (apt_install "strace, for the tests of a slow disk" strace); } ||
      log "no strace: the tests of a slow disk will be skipped"
  fi
  if [ "$(id -u)" = 0 ] && [ ! -x $cache/containerd/bin/busybox ]; then
    log "fetching containerd, runc, network plugins and busybox for the tests on Kubernetes"
    if command -v containerd >/dev/null && command -v runc >/dev/null; then
      unpack $cache/containerd containernetworking-plugins busybox-static
    else
      unpack $cache/containerd containerd runc containernetworking-plugins busybox-static
    fi
  fi
}

if [ "$purpose" = test ]; then
  fetch_programs &
  fetching=$!
fi

stamp=$venv/.locked
wanted=$(cat requirements.lock pyproject.toml setup.sh | cksum)
if [ ! -f $stamp ] || [ "$(cat $stamp)" != "$wanted" ]; then
  log "creating the virtual environment and installing the locked packages (about a minute, 1 GB on disk)"
  [ -x $venv/bin/python ] || "$python" -m venv $venv
  $venv/bin/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
  $venv/bin/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
  echo "$wanted" > $stamp
fi

if [ "$purpose" = test ] && [ "$(id -u)" = 0 ]; then
  if command -v go >/dev/null || [ -x /usr/local/go/bin/go ]; then
    # Takes many minutes on a new machine, so it continues during the first tests; those that need it wait.
    mkdir -p $cache/kubernetes
    programs='from testbed.kubernetes.tools import HELM_SOURCES, POLICY_SOURCES, build; build()'
    [ $long = no ] || programs="$programs; build(POLICY_SOURCES); build(HELM_SOURCES)"
    nice -n 10 $venv/bin/python -c "$programs" \
      > $cache/kubernetes/build.log 2>&1 < /dev/null &
  else
    log "no Go: the tests on Kubernetes will be skipped"
  fi
fi

if [ "$purpose" = test ]; then
  log "fetching the Kafka broker and Spark's Kafka connector (from Maven Central, once)"
  $venv/bin/python -m testbed.pipeline kafka-jars >/dev/null
  wait "$fetching"
fi
log "ready"
