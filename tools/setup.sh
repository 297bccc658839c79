# Sourced by tools/run, tools/test and tools/package: installs what is missing, says what it does on standard error.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf '%s\n' "$*" >&2; }
die() {
  say "error: $*"
  exit 1
}

# What to look for (a program, a pkg-config module or a file; several are alternatives), and Debian's package that brings it.
requirements() {
  cat <<'LIST'
g++ clang++                                                  build-essential
cmake                                                        cmake
ninja                                                        ninja-build
pkg-config                                                   pkg-config
ccache                                                       ccache
glslc                                                        glslc
spirv-val                                                    spirv-tools
/usr/include/vulkan/vulkan.h                                 libvulkan-dev
/usr/include/fmt/core.h                                      libfmt-dev
/usr/include/CLI/CLI.hpp                                     libcli11-dev
/usr/include/nlohmann/json.hpp                               nlohmann-json3-dev
/usr/include/eigen3/Eigen/Dense                              libeigen3-dev
/usr/include/pcre2.h                                         libpcre2-dev
/usr/include/protozero/pbf_reader.hpp                        libprotozero-dev
/usr/include/zlib.h                                          zlib1g-dev
/usr/include/histedit.h                                      libedit-dev
/usr/include/boost/beast.hpp                                 libboost-dev
/usr/include/*/curl/curl.h /usr/include/curl/curl.h          libcurl4-openssl-dev
/usr/include/sha2.h                                          libmd-dev
LIST
}

test_requirements() {
  cat <<'LIST'
/usr/include/gtest/gtest.h                                   libgtest-dev
python3                                                      python3
/usr/lib/python3/dist-packages/jsonschema                    python3-jsonschema
mandoc                                                       mandoc
shellcheck                                                   shellcheck
clang-tidy                                                   clang-tidy
/usr/include/volk.h /usr/include/volk/volk.h                 libvulkan-volk-dev
abidiff                                                      abigail-tools
dpkg-shlibdeps                                               dpkg-dev
lintian                                                      lintian
mpirun                                                       openmpi-bin
/usr/lib/*/openmpi/include/mpi.h /usr/include/mpi.h          libopenmpi-dev
/usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json vulkan-validationlayers
/usr/share/vulkan/icd.d/lvp_icd.*json                        mesa-vulkan-drivers
LIST
}

# What asks the server in tests (tests/serve), besides the packages of npm that tools/test fetches.
serve_requirements() {
  cat <<'LIST'
node                                                         nodejs
npm                                                          npm
haproxy                                                      haproxy
chromium                                                     chromium
LIST
}

# What building and running programs for Windows needs besides (docs/windows.md).
windows_requirements() {
  cat <<'LIST'
x86_64-w64-mingw32-g++-posix                                 g++-mingw-w64-x86-64-posix
/usr/x86_64-w64-mingw32/lib/libz.a                           libz-mingw-w64-dev
/usr/src/googletest/CMakeLists.txt                           googletest
/usr/lib/wine/wine64 wine64 wine                             wine64
Xvfb                                                         xvfb
patch                                                        patch
python3                                                      python3
/usr/share/vulkan/icd.d/lvp_icd.*json                        mesa-vulkan-drivers
LIST
}

# What packages for Linux need besides.
package_requirements() {
  cat <<'LIST'
dpkg-shlibdeps                                               dpkg-dev
patch                                                        patch
python3                                                      python3
LIST
}

# A device node of a GPU's driver; without one lavapipe has to do.
has_gpu() { compgen -G '/dev/dri/renderD*' >/dev/null || [[ -e /dev/nvidiactl || -e /dev/dxg ]]; }

has_vulkan_driver() { compgen -G '/usr/share/vulkan/icd.d/*.json' >/dev/null || compgen -G '/etc/vulkan/icd.d/*.json' >/dev/null; }

present() {
  local candidate
  for candidate in "$@"; do
    if [[ $candidate == /* ]]; then
      compgen -G "$candidate" >/dev/null && return 0
    else
      command -v "$candidate" >/dev/null && return 0
    fi
  done
  return 1
}

# missing_packages < list: the packages of the lines of which nothing is there.
missing_packages() {
  local -a words
  while read -ra words; do
    present "${words[@]:0:${#words[@]}-1}" || printf '%s ' "${words[-1]}"
  done
}

as_root() {
  if [[ $(id -u) == 0 ]]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo -- "$@"
  else
    die "installing packages needs root: run '$*' as root, or install sudo."
  fi
}

# Runs a step whose output matters only where it fails.
quietly() {
  local name=$1 log
  shift
  log=$(mktemp)
  if ! "$@" >"$log" 2>&1; then
    tail -n 40 "$log" >&2
    rm -f "$log"
    die "$name failed; the end of its output is above."
  fi
  rm -f "$log"
}

# Packages by name, with the package lists made fresh first.
apt() {
  say "Updating the package lists ..."
  quietly "'apt-get update' (is there a network, is /etc/apt/sources.list right?)" as_root apt-get -qq update
  say "Installing: $*"
  quietly "'apt-get install $*'" as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install "$@"
}

# What other package managers call it all; printed, not run.
print_other_command() {
  local command
  if command -v dnf >/dev/null; then
    command="sudo dnf install gcc-c++ cmake ninja-build pkgconf ccache glslc spirv-tools vulkan-headers vulkan-loader-devel vulkan-volk-devel \
vulkan-validation-layers fmt-devel gtest-devel cli11-devel json-devel eigen3-devel pcre2-devel protozero-devel zlib-devel libedit-devel boost-devel libcurl-devel libmd-devel mesa-vulkan-drivers"
  elif command -v pacman >/dev/null; then
    command="sudo pacman -S --needed base-devel cmake ninja ccache shaderc spirv-tools vulkan-headers vulkan-icd-loader volk \
vulkan-validation-layers fmt gtest cli11 nlohmann-json eigen pcre2 protozero zlib libedit boost curl libmd vulkan-swrast"
  elif command -v brew >/dev/null; then
    command="brew install cmake ninja pkg-config ccache shaderc spirv-tools vulkan-headers vulkan-loader vulkan-volk molten-vk \
vulkan-validationlayers fmt googletest cli11 nlohmann-json eigen pcre2 protozero zlib libedit boost curl libmd"
  else
    die "packages are missing (Debian calls them: $*) and there is no apt, dnf, pacman or brew; install them by hand, then run this again."
  fi
  say "Packages are missing. Install them, then run this again:"
  say "  $command"
  exit 1
}

# install_missing build|test|windows|package: everything that building needs, and what tests, programs for Windows or packages need besides.
install_missing() {
  local missing
  if [[ $1 == windows ]] && ! command -v apt-get >/dev/null; then
    die "programs for Windows are built with Debian's packages, and there is no apt here: $(windows_requirements | awk '{print $NF}' | tr '\n' ' ')"
  fi
  if ! command -v apt-get >/dev/null; then
    # Paths differ between distributions; the configure step names what is missing there.
    command -v cmake >/dev/null && command -v ninja >/dev/null && command -v glslc >/dev/null && command -v spirv-val >/dev/null && return 0
    print_other_command "$(requirements | awk '{print $NF}' | tr '\n' ' ')"
  fi
  missing=$(requirements | missing_packages)
  if [[ $1 != build ]]; then
    missing+=$("$1_requirements" | missing_packages)
  elif ! has_vulkan_driver || ! has_gpu; then
    missing+=$(test_requirements | grep icd | missing_packages)
  fi
  [[ -n $missing ]] || return 0
  # shellcheck disable=SC2086
  apt $missing
}

# Several sources a compiler run: a cold build takes a third of the time.
join_sources=(-DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=24)

# configure FOLDER PRESET OPTION...
configure() {
  local folder=$1 preset=$2
  shift 2
  [[ -f $folder/build.ninja ]] || say "Configuring ..."
  quietly "Configuring" cmake -S "$root" --preset "$preset" -B "$folder" "${join_sources[@]}" "$@"
}

# kernels_of FOLDER: compiles the kernels of a configured build folder, and prints the option by which another build of these sources takes them.
kernels_of() {
  build "$1" shaders/generated/kernels/kernel_table.cpp
  printf -- '-DSKIPSTONE_KERNELS_FROM=%s\n' "$1"
}

# kernels_of_native_build: that option for this machine's own build, of the tests or of the program; nothing where there is neither.
kernels_of_native_build() {
  local folder
  for folder in "$root"/build/test "$root"/build/release; do
    [[ -f $folder/build.ninja ]] || continue
    kernels_of "$folder"
    return
  done
}

# build FOLDER TARGET...: one changing line of progress on a terminal, a line now and then elsewhere, all of it where it fails.
build() {
  local folder=$1 log
  shift
  log=$(mktemp)
  if ! ninja -C "$folder" "$@" 2>&1 | tee "$log" | show_progress; then
    grep -E -A12 '^FAILED|error:|ninja: error' "$log" | head -n 60 >&2
    rm -f "$log"
    die "the build failed; the first errors are above."
  fi
  rm -f "$log"
}

show_progress() {
  local line shown=0 finished total
  while IFS= read -r line; do
    [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]] || continue
    finished=${BASH_REMATCH[1]} total=${BASH_REMATCH[2]}
    if [[ -t 2 ]]; then
      printf '\r\033[KBuilding %d of %d' "$finished" "$total" >&2
    elif ((total > 20 && finished * 4 / total > shown)); then
      shown=$((finished * 4 / total))
      say "Building: $((shown * 25)) %"
    fi
  done
  [[ -t 2 && -n ${total-} ]] && printf '\r\033[K' >&2
  return 0
}

set -o pipefail
