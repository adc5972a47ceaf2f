#include "weft/app/slow_notice.h"

#include <chrono>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::slow_notice_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

TEST(SlowNotice, WhatTakesLongIsSaidWithWhatIsDone) {
  Guarded<std::vector<std::string>> said;
  {
    SlowNotice notice(
        "reading words",
        [&](std::string line) {
          said.with([&](auto& lines) { lines.push_back(std::move(line)); });
        },
        milliseconds(1), milliseconds(1));
    notice.progress(1, 4);
    const auto is_there = [](const auto& lines) {
      return !lines.empty() && lines.back().find("25 %") != std::string::npos;
    };
    EXPECT_TRUE(said.wait_until(SystemClock().now() + seconds(20), is_there));
  }
  said.with(
      [](const auto& lines) { EXPECT_THAT(lines.front(), HasSubstr("weft: reading words (")); });
}

TEST(SlowNotice, WhatIsQuickIsNotSaid) {
  int said = 0;
  {
    const SlowNotice notice(
        "nothing", [&](const std::string&) { ++said; }, seconds(600));
  }
  EXPECT_EQ(said, 0);
}

}  // namespace
}  // namespace weft::slow_notice_test
