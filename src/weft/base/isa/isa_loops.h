// Tables of inner loops that exist once for each instruction set of isa_list.h.
//
// A family of loops is a struct of function pointers, Loops, declared in a header by
//   WEFT_LOOPS(Loops, name);          for loops that compute in registers of WEFT_LANES floats
//   WEFT_PLAIN_LOOPS(Loops, name);    for loops that compute and that the compiler makes vectors of
//   WEFT_MEMORY_LOOPS(Loops, name);   for loops that wait for memory
//   WEFT_DOT_LOOPS(Loops, name);      for loops of dot products, which some sets have units for
// which declares `const Loops& name()`, the one in use, and `name_tables`, all of them, for tests.
// They are defined in a source x_loops.cpp that CMake compiles once for each set (weft_loops() in
// cmake/loops.cmake) and that looks like this:
//   #include ...                            everything, before the next line
//   #include "weft/base/isa/loops_begin.inc"
//   namespace weft { namespace { the loops } extern const Loops WEFT_LOOPS_NAME(name) = {...}; }
//   #include "weft/base/isa/loops_end.inc"
// Between these no inline function of a header may be called: the linker could give the copy of it
// that was compiled for AVX-512 to a processor without.
// Threads: any. Fails: never.
#pragma once

#include <cstddef>

#include "weft/base/isa/isa.h"

namespace weft {

template <class Loops>
struct IsaLoops {
  Isa isa;
  const Loops* loops;
};

// The loops of the instruction set in use, or of the next lower one that has some.
template <class Loops, std::size_t kCount>
const Loops& loops_in_use(const IsaLoops<Loops> (&tables)[kCount]) {
  const Isa isa = isa_in_use();
  const Loops* best = tables[0].loops;
  for (const IsaLoops<Loops>& table : tables) {
    if (table.isa <= isa) best = table.loops;
  }
  return *best;
}

}  // namespace weft

// What depends on the column `use` of isa_list.h: the sets of loops that wait for memory, of plain
// ones, and of those in registers.
#define WEFT_IF_MEMORY_all(...) __VA_ARGS__
#define WEFT_IF_MEMORY_compute(...)
#define WEFT_IF_MEMORY_dots(...)
#define WEFT_IF_MEMORY_tests(...)
#define WEFT_IF_PLAIN_all(...) __VA_ARGS__
#define WEFT_IF_PLAIN_compute(...) __VA_ARGS__
#define WEFT_IF_PLAIN_dots(...)
#define WEFT_IF_PLAIN_tests(...)
#define WEFT_IF_COMPUTE_all(...) __VA_ARGS__
#define WEFT_IF_COMPUTE_compute(...) __VA_ARGS__
#define WEFT_IF_COMPUTE_dots(...)
#define WEFT_IF_COMPUTE_tests(...) __VA_ARGS__

#define WEFT_EXTERN_LOOPS(Name, text, features, lanes, use, Loops, name) \
  extern const Loops name##Name;
#define WEFT_LOOPS_ENTRY(Name, text, features, lanes, use, Loops, name) \
  {::weft::Isa::k##Name, &name##Name},
#define WEFT_EXTERN_MEMORY_LOOPS(Name, text, features, lanes, use, Loops, name) \
  WEFT_IF_MEMORY_##use(extern const Loops name##Name;)
#define WEFT_MEMORY_LOOPS_ENTRY(Name, text, features, lanes, use, Loops, name) \
  WEFT_IF_MEMORY_##use({::weft::Isa::k##Name, &name##Name}, )
#define WEFT_EXTERN_PLAIN_LOOPS(Name, text, features, lanes, use, Loops, name) \
  WEFT_IF_PLAIN_##use(extern const Loops name##Name;)
#define WEFT_PLAIN_LOOPS_ENTRY(Name, text, features, lanes, use, Loops, name) \
  WEFT_IF_PLAIN_##use({::weft::Isa::k##Name, &name##Name}, )
#define WEFT_EXTERN_COMPUTE_LOOPS(Name, text, features, lanes, use, Loops, name) \
  WEFT_IF_COMPUTE_##use(extern const Loops name##Name;)
#define WEFT_COMPUTE_LOOPS_ENTRY(Name, text, features, lanes, use, Loops, name) \
  WEFT_IF_COMPUTE_##use({::weft::Isa::k##Name, &name##Name}, )

#define WEFT_TABLES_OF_LOOPS(EXTERN, ENTRY, Loops, name)                                      \
  WEFT_ISAS(EXTERN, Loops, name)                                                              \
  inline constexpr ::weft::IsaLoops<Loops> name##_tables[] = {WEFT_ISAS(ENTRY, Loops, name)}; \
  inline const Loops& name() { return ::weft::loops_in_use(name##_tables); }

#define WEFT_LOOPS(Loops, name) \
  WEFT_TABLES_OF_LOOPS(WEFT_EXTERN_COMPUTE_LOOPS, WEFT_COMPUTE_LOOPS_ENTRY, Loops, name)
#define WEFT_PLAIN_LOOPS(Loops, name) \
  WEFT_TABLES_OF_LOOPS(WEFT_EXTERN_PLAIN_LOOPS, WEFT_PLAIN_LOOPS_ENTRY, Loops, name)
#define WEFT_MEMORY_LOOPS(Loops, name) \
  WEFT_TABLES_OF_LOOPS(WEFT_EXTERN_MEMORY_LOOPS, WEFT_MEMORY_LOOPS_ENTRY, Loops, name)
#define WEFT_DOT_LOOPS(Loops, name) \
  WEFT_TABLES_OF_LOOPS(WEFT_EXTERN_LOOPS, WEFT_LOOPS_ENTRY, Loops, name)
