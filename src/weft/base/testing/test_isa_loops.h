// The tables of loops (isa_loops.h) that this processor can run, whichever is in use. For tests.
// Threads: values. Fails: never.
#pragma once

#include <cstddef>
#include <vector>

#include "weft/base/isa/isa.h"
#include "weft/base/isa/isa_loops.h"

namespace weft {

// Those of x_tables, the tables of a family; the first is that of any processor.
template <class Loops, std::size_t kCount>
std::vector<IsaLoops<Loops>> loops_that_run(const IsaLoops<Loops> (&tables)[kCount]) {
  std::vector<IsaLoops<Loops>> out;
  for (const IsaLoops<Loops>& table : tables) {
    for (const InstructionSet& set : instruction_sets()) {
      if (set.isa == table.isa && runs_here(set)) out.push_back(table);
    }
  }
  return out;
}

}  // namespace weft
