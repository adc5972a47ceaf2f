#include "weft/base/isa/isa.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/base/isa/isa_loops.h"

namespace weft::isa_test {
namespace {

// Tables of a family that has none for the last sets.
struct Letters {
  char letter;
};
constexpr Letters kPlain = {'p'};

TEST(Isa, TheFirstSetRunsEverywhere) {
  ASSERT_FALSE(instruction_sets().empty());
  EXPECT_EQ(instruction_sets()[0].name, "generic");
  EXPECT_TRUE(runs_here(instruction_sets()[0]));
  EXPECT_EQ(*chosen_isa("generic"), Isa::kGeneric);
}

TEST(Isa, SetsAreInTheOrderOfTheirEnumerators) {
  int i = 0;
  for (const InstructionSet& set : instruction_sets()) {
    EXPECT_EQ(static_cast<int>(set.isa), i++) << set.name;
  }
}

// The processor is asked for every feature of the list; an unknown one would stop this test.
TEST(Isa, AChoiceThatDoesNotRunHereIsTheNextLowerOne) {
  for (const InstructionSet& set : instruction_sets()) {
    const Result<Isa> chosen = chosen_isa(set.name);
    ASSERT_TRUE(chosen.ok()) << set.name;
    if (runs_here(set)) {
      EXPECT_EQ(*chosen, set.isa) << set.name;
    } else {
      EXPECT_LT(*chosen, set.isa) << set.name;
    }
  }
}

TEST(Isa, NobodyGetsASetForTestsUnasked) {
  const Result<Isa> best = chosen_isa("");
  ASSERT_TRUE(best.ok());
  const InstructionSet& set = instruction_sets()[static_cast<std::size_t>(*best)];
  EXPECT_TRUE(set.chosen) << set.name;
  EXPECT_TRUE(runs_here(set)) << set.name;
}

TEST(Isa, AnUnknownNameIsRefusedWithThoseThatThereAre) {
  const Result<Isa> chosen = chosen_isa("avx3");
  ASSERT_FALSE(chosen.ok());
  EXPECT_EQ(chosen.status().code(), Code::kInvalidArgument);
  EXPECT_THAT(std::string(chosen.status().message()), testing::HasSubstr("\"avx3\""));
  for (const InstructionSet& set : instruction_sets()) {
    EXPECT_THAT(std::string(chosen.status().message()), testing::HasSubstr(std::string(set.name)));
  }
}

TEST(Isa, AFamilyWithoutTheSetInUseHasTheNextLowerOne) {
  const IsaLoops<Letters> tables[] = {{Isa::kGeneric, &kPlain}};
  EXPECT_EQ(loops_in_use(tables).letter, 'p');
}

}  // namespace
}  // namespace weft::isa_test
