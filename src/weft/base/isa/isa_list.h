// The instruction sets that loops are compiled for, in the order of preference; each includes those
// before it. An entry is all that a new one needs: CMake reads this list (cmake/loops.cmake).
//
// X(Name, "name", "features", lanes, use, ...):
//   Name      of the enumerator Isa::kName, and the suffix of tables of loops
//   name      the value of WEFT_ISA, and what `weft doctor` prints
//   features  that the compiler may use and the processor must have
//   lanes     WEFT_LANES: f32 values in a register, for loops that are written in registers
//   use       all: loops of any kind; compute: loops that compute, not those that wait for memory;
//             dots: loops of dot products of short values only; tests: those that compute and dot
//             products, but only where WEFT_ISA says so, and compiled for size
#pragma once

// clang-format off
#if defined(__x86_64__)
#define WEFT_ISAS(X, ...)                                                                       \
  X(Generic, "generic", "", 8, all, __VA_ARGS__)                                                \
  X(Avx2, "avx2", "avx2,fma", 8, all, __VA_ARGS__)                                              \
  X(Avx2Pairs, "avx2_pairs", "avx2,fma", 16, tests, __VA_ARGS__)                                \
  X(Avx512, "avx512", "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl", 16, compute, __VA_ARGS__)  \
  X(Avx512Vnni, "avx512_vnni", "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni", 16,    \
    dots, __VA_ARGS__)                                                                          \
  X(Avx512Bf16, "avx512_bf16",                                                                  \
    "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512bf16", 16, dots, __VA_ARGS__)
#elif defined(__aarch64__)
// Generic has NEON, which every processor of this kind has.
#define WEFT_ISAS(X, ...)                                                                       \
  X(Generic, "generic", "", 8, all, __VA_ARGS__)                                                \
  X(NeonDot, "neon_dot", "dotprod", 8, dots, __VA_ARGS__)                                       \
  X(NeonBf16, "neon_bf16", "dotprod,bf16", 8, dots, __VA_ARGS__)
#else
#define WEFT_ISAS(X, ...)                                                                       \
  X(Generic, "generic", "", 8, all, __VA_ARGS__)
#endif
// clang-format on
