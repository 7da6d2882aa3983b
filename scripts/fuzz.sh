#!/bin/sh
# Run every fuzz target for the time given.
set -eu
cd "$(dirname "$0")/.."
grep -rl --include='*_test.go' '^func Fuzz' . | while read -r file; do
    grep -ho '^func Fuzz[A-Za-z0-9_]*' "$file" | sed 's/^func //' | while read -r target; do
        echo "fuzz: $target ($(dirname "$file"))"
        go test -run '^$' -fuzz "^$target\$" -fuzztime "$1" -fuzzminimizetime 5x "$(dirname "$file")"
    done
done
