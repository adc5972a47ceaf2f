#include "weft/base/core/peak_loops.h"

#include <cmath>

#include <gtest/gtest.h>

#include "weft/base/testing/test_isa_loops.h"

namespace weft::peak_loops_test {
namespace {

// 1 is what a chain tends to: x - 1 shrinks by 0.999 in each round.
TEST(PeakLoops, EveryInstructionSetRunsAllRounds) {
  for (const auto& [isa, loops] : loops_that_run(peak_loops_tables)) {
    for (const std::int64_t rounds : {0, 1, 700}) {
      double want = 0;
      for (int k = 0; k < 12; ++k) want += 1 + (2.0 + k) * std::pow(0.999, rounds);
      EXPECT_NEAR(static_cast<double>(loops->multiply_adds(3.0F, rounds)), want, 1e-2)
          << "instruction set " << static_cast<int>(isa) << ", " << rounds << " rounds";
    }
  }
}

}  // namespace
}  // namespace weft::peak_loops_test
