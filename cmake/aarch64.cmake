# The toolchain file of the preset aarch64: Debian's cross compiler, the libraries that
# tools/aarch64_sysroot.sh has unpacked, and an emulator by which ctest runs what was built.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
get_filename_component(WEFT_SYSROOT "${CMAKE_CURRENT_LIST_DIR}/../build/aarch64-sysroot" ABSOLUTE)
set(CMAKE_SYSROOT "${WEFT_SYSROOT}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
# A processor with dot products of bytes and of bf16, so that every instruction set runs, and without
# SVE: with 512 bits of it in qemu 7.2, gradients of depthwise convolutions with dilation come out
# wrong, by oneDNN 2.6.3's fault or qemu's.
set(CMAKE_CROSSCOMPILING_EMULATOR "qemu-aarch64;-cpu;max,sve=off;-L;${WEFT_SYSROOT}")
