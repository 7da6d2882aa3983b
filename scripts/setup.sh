#!/bin/sh
# Make sure that what a target needs is on this machine. Usage: setup.sh bwrap cc …
# Missing programs are installed through the system's package manager where that may be done without asking a person
# (as root, or with sudo that asks for nothing); otherwise one line says what to do, and the caller decides.
set -eu

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"
    elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then sudo "$@"
    else return 1
    fi
}

install() {
    if command -v apt-get >/dev/null 2>&1; then
        as_root sh -c "apt-get install -y -qq $1 >/dev/null 2>&1 || { apt-get update -qq && apt-get install -y -qq $1 >/dev/null; }"
    elif command -v dnf >/dev/null 2>&1; then as_root dnf install -y -q "$1"
    elif command -v pacman >/dev/null 2>&1; then as_root pacman -S --noconfirm --quiet "$1"
    elif command -v zypper >/dev/null 2>&1; then as_root zypper -q install -y "$1"
    elif command -v apk >/dev/null 2>&1; then as_root apk add -q "$1"
    else return 1
    fi
}

[ "$(uname -s)" = Linux ] || exit 0
for what in "$@"; do
    case $what in
    bwrap) command -v bwrap >/dev/null 2>&1 && continue; package=bubblewrap ;;
    cc) { command -v gcc || command -v cc; } >/dev/null 2>&1 && continue; package=gcc ;;
    *) command -v "$what" >/dev/null 2>&1 && continue; package=$what ;;
    esac
    echo "setup: installing $package"
    install "$package" || { echo "setup: $package is missing and cannot be installed from here: install it with your package manager, as root, and try again" >&2; exit 1; }
done
