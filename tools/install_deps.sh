#!/usr/bin/env bash
# Installs the Debian packages that Weft needs and this machine lacks.
#
# usage: tools/install_deps.sh [build|test|all|cross|libraries]
#   build  what it takes to compile and run the program (the default)
#   test   that, and what ./test uses besides; clang, the checkers of style (clang-format-14,
#          clang-tidy-14) and the tools of tests/nat are installed where the distribution has
#          them, and ./test says so if not
#   all    that, and what is used only where it is found: OpenDHT, under whose GPL the program is
#          then passed on (docs/dependencies.md), OpenMPI, and a router that opens ports
#   cross  the compiler for aarch64, and the emulator that runs what it makes
#   libraries  installs nothing: prints the libraries of `build` and `test`, which
#          tools/aarch64_sysroot.sh unpacks
# Debian 12 and Ubuntu 24.04, as root or with sudo. WEFT_SKIP_INSTALL=1 leaves the machine alone.
# docs/dependencies.md says what each package is for.
set -euo pipefail

build_packages=(
  g++ cmake ninja-build
  libdnnl-dev libasio-dev libssl-dev libfmt-dev libspdlog-dev libxxhash-dev
  libcli11-dev libtomlplusplus-dev nlohmann-json3-dev libdeflate-dev libpcre2-dev libpng-dev
  libturbojpeg0-dev
  dataset-fashion-mnist
)
test_packages=(
  libgtest-dev libgmock-dev python3 openssl make pkg-config
)
# The program asks routers to open ports with them, and says so where it was built without.
router_packages=(
  libminiupnpc-dev libnatpmp-dev
)
# clang's other versions format otherwise, so no other will do for style; the analysis of threads
# takes any from 14. ONNX's tests of operators are run where they are.
extra_test_packages=(
  clang clang-format-14 clang-tidy-14 nftables iproute2 libonnx-testdata
)
# The Python package; ./test says so where they are not. PyTorch (python3-torch) and torchvision
# (python3-torchvision) are used by its tests where they happen to be installed.
python_packages=(
  python3-dev pybind11-dev python3-pybind11 python3-numpy python3-pil mypy
)
all_packages=(
  libopendht-dev libopenmpi-dev openmpi-bin miniupnpd-nftables
)
cross_packages=(
  g++-aarch64-linux-gnu qemu-user
)

fail() {
  printf 'install_deps: %s\n' "$@" >&2
  exit 1
}

case "${1:-build}" in
  build) wanted=("${build_packages[@]}") extra=("${router_packages[@]}") ;;
  test)
    wanted=("${build_packages[@]}" "${test_packages[@]}")
    extra=("${router_packages[@]}" "${extra_test_packages[@]}" "${python_packages[@]}")
    ;;
  all)
    wanted=("${build_packages[@]}" "${test_packages[@]}")
    extra=("${router_packages[@]}" "${extra_test_packages[@]}" "${python_packages[@]}"
      "${all_packages[@]}")
    ;;
  cross) wanted=("${cross_packages[@]}") extra=() ;;
  libraries)
    printf '%s\n' "${build_packages[@]}" "${test_packages[@]}" "${router_packages[@]}" | grep -e '-dev$'
    exit 0
    ;;
  *) fail "unknown set '$1': expected build, test, all, cross or libraries" ;;
esac

if [ "${WEFT_SKIP_INSTALL:-}" = 1 ]; then
  exit 0
fi

distribution=unknown
if [ -r /etc/os-release ]; then
  distribution=$(. /etc/os-release && printf '%s %s' "${ID:-unknown}" "${VERSION_ID:-}")
fi
case "$distribution" in
  "debian 12"* | "ubuntu 24.04"*) ;;
  *)
    fail "expected Debian 12 or Ubuntu 24.04, got '$distribution'." \
      "Install what these packages hold by your own means, then set WEFT_SKIP_INSTALL=1:" \
      "  ${wanted[*]}"
    ;;
esac

# Those of the packages given that are not installed, in one question: each takes 20 ms.
not_installed() {
  local -A there=()
  local package
  while read -r package; do
    there[$package]=1
  done < <(dpkg-query --show --showformat='${db:Status-Status} ${Package}\n' "$@" 2>/dev/null |
    sed -n 's/^installed //p')
  for package in "$@"; do
    [ -n "${there[$package]:-}" ] || echo "$package"
  done
}

mapfile -t missing < <(not_installed "${wanted[@]}")
mapfile -t missing_extra < <(not_installed "${extra[@]}")
if [ $((${#missing[@]} + ${#missing_extra[@]})) -eq 0 ]; then
  exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null ||
    fail "packages are missing, and this is neither root nor is sudo installed." \
      "As root, run:  apt-get install ${missing[*]} ${missing_extra[*]}"
  as_root=(sudo)
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt_get() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get -q -y -o DPkg::Lock::Timeout=300 "$@" >"$log" 2>&1
}

# A list that is too old names files that the mirror no longer has: look again, then try again.
install() {
  echo "installing $# packages: $*"
  apt_get install --no-install-recommends "$@" ||
    { apt_get update && apt_get install --no-install-recommends "$@"; }
}

if [ ${#missing[@]} -gt 0 ]; then
  if ! install "${missing[@]}"; then
    tail -n 15 "$log" >&2
    fail "apt-get could not install them (its last lines stand above)."
  fi
  mapfile -t still_missing < <(not_installed "${missing[@]}")
  [ ${#still_missing[@]} -eq 0 ] ||
    fail "apt-get ended well, yet '${still_missing[*]}' is not installed."
fi
# One by one: a package that this distribution lacks does not keep the others away.
for package in ${missing_extra[@]+"${missing_extra[@]}"}; do
  install "$package" ||
    echo "install_deps: $package cannot be had here; what it is for is left out" >&2
done
