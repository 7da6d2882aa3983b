#!/bin/sh
# Run the test suite under the race detector and close with its counts. Arguments go to go test.
set -eu
cd "$(dirname "$0")/.."
sh scripts/setup.sh bwrap git tmux python3 || echo "test: without bubblewrap the tests of the sandbox are skipped and counted"
race=-race
if ! sh scripts/setup.sh cc; then
    race=
    echo "test: no C compiler, which the race detector needs: running without it"
fi
[ $# -gt 0 ] || set -- ./...
[ -n "$race" ] && export CGO_ENABLED=1
exec go tool -modfile=tools/go.mod gotestsum --format pkgname -- $race -timeout 12m "$@"
