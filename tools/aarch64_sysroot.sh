#!/usr/bin/env bash
# Unpacks the libraries that Weft needs, as Debian builds them for aarch64, into a folder, where the
# cross compiler and the emulator find them. Nothing of the machine itself changes.
#
# usage: tools/aarch64_sysroot.sh FOLDER
# FOLDER is complete once it has the file `packages`, which names what is in it; a complete one with
# the same names is left as it is. apt-get works with lists and a record of its own in FOLDER.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."

fail() {
  printf 'aarch64_sysroot: %s\n' "$@" >&2
  exit 1
}

[ $# -eq 1 ] || fail "expected one folder, got '$*'"
wanted=$(tools/install_deps.sh libraries)
if [ "$(cat "$1/packages" 2>/dev/null)" = "$wanted" ]; then
  exit 0
fi
grep -qs '^ID=debian' /etc/os-release || fail "expected Debian, whose mirrors have aarch64, too"

rm -rf "$1"
mkdir -p "$1"/{usr/lib,apt/lists/partial,apt/cache/archives/partial}
folder=$(readlink -f "$1")
# Debian keeps /lib in /usr/lib; some packages still have files there.
ln -s usr/lib "$folder/lib"
: >"$folder/apt/status"
apt_get() {
  apt-get -q -y -o APT::Architecture=arm64 -o APT::Architectures::=arm64 \
    -o Dir::State::lists="$folder/apt/lists" -o Dir::State::status="$folder/apt/status" \
    -o Dir::Cache="$folder/apt/cache" -o APT::Install-Recommends=false \
    "$@" >"$folder/apt/log" 2>&1 || {
    tail -n 15 "$folder/apt/log" >&2
    fail "apt-get $1 failed (its last lines stand above)"
  }
}
echo "unpacking the libraries of aarch64 into $1 ..."
apt_get update
# shellcheck disable=SC2086
apt_get install --download-only $wanted
for package in "$folder"/apt/cache/archives/*.deb; do
  dpkg --extract "$package" "$folder"
done
rm -rf "$folder/apt"
echo "$wanted" >"$folder/packages"
