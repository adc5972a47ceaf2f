#include "weft/array/storage/storage_budget.h"

#include <stdexcept>

#include <gtest/gtest.h>

#include "weft/array/array.h"

namespace weft::storage_budget_test {
namespace {

constexpr std::size_t kMegabyte = std::size_t{1} << 20U;

// `count` megabytes.
Array megabytes(std::int64_t count) { return Array::zeros({count, 1 << 18}); }

TEST(StorageBudget, CountsWhatIsHeldAtOnce) {
  const Array before = megabytes(8);
  const StorageBudget budget(4 * kMegabyte);
  for (int i = 0; i < 20; ++i) megabytes(3);  // freed each time
  Array first = megabytes(2);
  const Array second = megabytes(1);
  const Array view = first.reshape({-1});  // the same storage
  EXPECT_THROW(megabytes(2), std::invalid_argument);
  first = Array();
  EXPECT_THROW(megabytes(2), std::invalid_argument) << "the view holds it";
  EXPECT_EQ(view.size(), 2 << 18);
  EXPECT_THROW(Array::zeros({std::int64_t{1} << 36U}), std::invalid_argument);
}

TEST(StorageBudget, EndsWithItsScopeAndNests) {
  Array kept;
  {
    const StorageBudget outer(4 * kMegabyte);
    {
      const StorageBudget inner(2 * kMegabyte);
      EXPECT_THROW(megabytes(3), std::invalid_argument);
      kept = megabytes(2);
    }
    EXPECT_THROW(megabytes(3), std::invalid_argument) << "what is kept counts here too";
    megabytes(2);
  }
  megabytes(16);
  kept = Array();
}

TEST(StorageBudget, IsOfOneThreadAlone) {
  const StorageBudget budget(kMegabyte);
  Array made;
  Thread([&] { made = megabytes(4); }).join();
  EXPECT_EQ(made.size(), 4 << 18);
}

}  // namespace
}  // namespace weft::storage_budget_test
