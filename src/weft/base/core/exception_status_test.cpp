#include "weft/base/exception_status.h"

#include <new>
#include <stdexcept>

#include <gtest/gtest.h>

namespace weft::exception_status_test {
namespace {

TEST(ExceptionStatus, WhereMemoryIsShortNothingInsideIsAtFault) {
  const Status full = exception_status("step", std::bad_alloc());
  EXPECT_EQ(full.code(), Code::kUnavailable);
  EXPECT_EQ(full.message(),
            "step: not enough memory; smaller batches or a smaller model take less");
  const Status ours = exception_status("step", std::logic_error("shapes"));
  EXPECT_EQ(ours.code(), Code::kInternal);
  EXPECT_EQ(ours.message(), "step: shapes");
}

}  // namespace
}  // namespace weft::exception_status_test
