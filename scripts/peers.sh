#!/bin/sh
# Run real third-party agents against a model that follows a script: headless, through ACP, and as members of a team. They are
# installed with npm into PEERS_DIR, once. Where npm or its registry cannot be had, this says so and succeeds.
set -eu
cd "$(dirname "$0")/.."
PEERS_DIR=${PEERS_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/substrat-peers}
packages='node@22 @anthropic-ai/claude-code@2.1.329 @openai/codex@0.169.0 @google/gemini-cli@0.61.0
  @agentclientprotocol/claude-agent-acp@0.100.0 @zed-industries/codex-acp@0.16.0'
skip() { echo "peers: SKIPPED: $1"; exit 0; }

if [ "$(cat "$PEERS_DIR/installed" 2>/dev/null || true)" != "$packages" ]; then
    command -v npm >/dev/null || skip "npm is not installed"
    npm view node@22 version >/dev/null 2>&1 || skip "npm's registry cannot be reached"
    mkdir -p "$PEERS_DIR"
    echo "peers: installing into $PEERS_DIR"
    # shellcheck disable=SC2086 # they are several words
    (cd "$PEERS_DIR" && { [ -f package.json ] || echo '{"private":true}' >package.json; } && npm install --no-fund --no-audit --loglevel error $packages) ||
        skip "npm could not install the agents"
    echo "$packages" >"$PEERS_DIR/installed"
fi
sh scripts/setup.sh bwrap git
export PEERS_DIR
PATH="$PEERS_DIR/node_modules/node/bin:$PEERS_DIR/node_modules/.bin:$PATH"
exec go test -tags peers -count 1 -timeout 30m -v ./internal/peers "$@"
