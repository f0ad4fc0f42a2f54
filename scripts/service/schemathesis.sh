#!/bin/sh
# Schemathesis against the service's own description: 2,000 cases and more. Needs schemathesis from PyPI.
#   SIZEWISE=target/release/sizewise scripts/service/schemathesis.sh
set -eu
here=$(dirname "$0")
port=${PORT:-8093}
"${SIZEWISE:-target/release/sizewise}" serve --listen "127.0.0.1:$port" --log warn &
service=$!
trap 'kill $service; wait $service' EXIT
sleep 2
"${SCHEMATHESIS:-schemathesis}" --config-file "$here/schemathesis.toml" run "http://127.0.0.1:$port/openapi.json" \
    --max-examples "${EXAMPLES:-60}" --seed "${SEED:-1}"
