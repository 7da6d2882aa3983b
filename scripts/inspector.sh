#!/bin/sh
# Let the MCP Inspector, a third party's client, list and call the agents' tools over stdio in its two eras.
# Usage: inspector.sh SUBSTRAT_BINARY. Needs Node.js and the npm registry; says so and stops where they are missing.
set -eu
bin=$(realpath "$1")
command -v npm >/dev/null 2>&1 || { echo "inspector: skipped: npm is not installed"; exit 0; }
dir=$(mktemp -d)
export SUBSTRAT_HOME="$dir/home"
trap '"$bin" daemon stop --cancel >/dev/null 2>&1 || true; rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-fund --no-audit @modelcontextprotocol/inspector@2.12.0 >/dev/null 2>&1 || { echo "inspector: skipped: npm cannot reach its registry"; exit 0; }
"$bin" daemon start >/dev/null
"$bin" agent create lead >/dev/null
"$bin" agent create helper --parent lead >/dev/null
inspect() { node_modules/.bin/mcp-inspector --cli -e SUBSTRAT_HOME="$SUBSTRAT_HOME" "$bin" mcp --as lead "$@"; }
for era in legacy modern auto; do
    inspect --protocol-era $era --method tools/list >list.json
    grep -q '"send_message"' list.json || { echo "inspector: $era: tools/list does not show send_message"; cat list.json; exit 1; }
    inspect --protocol-era $era --method tools/call --tool-name list_children >call.json
    grep -q helper call.json || { echo "inspector: $era: list_children does not show the child"; cat call.json; exit 1; }
    inspect --protocol-era $era --method tools/call --tool-name send_message --tool-arg recipient=helper --tool-arg "text=hello from $era" --tool-arg sync=false >send.json
    grep -q message_id send.json || { echo "inspector: $era: send_message gave no id"; cat send.json; exit 1; }
    echo "inspector: $era: listed and called"
done
