#!/bin/sh
# Checks the golden files of the exported tasks against the schemas that Kubernetes and SkyPilot
# publish. The schemas come with their Python packages; without them the check is skipped.
set -eu
cd "$(dirname "$0")/../../.."
venv=target/schemas
[ -e "$venv/installed" ] || {
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet kubernetes-validate==1.37.0 skypilot==0.14.1 || {
    echo 'schemas: skipped, because pip could not install the packages with the schemas (see above)' >&2
    exit 0
  }
  touch "$venv/installed"
}
exec "$venv/bin/python" runner/tests/launch/schemas.py runner/tests/snapshots
