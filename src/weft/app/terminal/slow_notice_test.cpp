#include "weft/app/terminal/slow_notice.h"

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
    SlowNotice notice("reading words", {[&](const std::string& line) {
                                          said.with([&](auto& lines) { lines.push_back(line); });
                                        },
                                        milliseconds(1), milliseconds(1), 0});
    notice.progress(1, 4);
    const auto is_there = [](const auto& lines) {
      return !lines.empty() && lines.back().find("25 %") != std::string::npos;
    };
    EXPECT_TRUE(said.wait_until(SystemClock().now() + seconds(20), is_there));
  }
  said.with(
      [](const auto& lines) { EXPECT_THAT(lines.front(), HasSubstr("weft: reading words (")); });
}

TEST(SlowNotice, TheTimeLeftStandsBehindTheProgress) {
  Guarded<std::vector<std::string>> said;
  {
    SlowNotice notice("training", {[&](const std::string& line) {
                                     said.with([&](auto& lines) { lines.push_back(line); });
                                   },
                                   milliseconds(1), milliseconds(1), 0});
    notice.progress(1, 2, 75);
    const auto is_there = [](const auto& lines) {
      return !lines.empty() && lines.back().find(" s, 50 %, 1:15 left)") != std::string::npos;
    };
    EXPECT_TRUE(said.wait_until(SystemClock().now() + seconds(20), is_there));
  }
}

TEST(SlowNotice, WhatIsQuickIsNotSaid) {
  int said = 0;
  {
    const SlowNotice notice("nothing",
                            {[&](const std::string&) { ++said; }, seconds(600), seconds(1), 79});
  }
  EXPECT_EQ(said, 0);
}

TEST(SlowNotice, OnATerminalOneLineIsRedrawnAndGoneAtTheEnd) {
  Guarded<std::vector<std::string>> said;
  {
    const SlowNotice notice(
        "reading \x1b[2J words that are longer than this terminal is wide",
        {[&](const std::string& text) { said.with([&](auto& texts) { texts.push_back(text); }); },
         milliseconds(1), milliseconds(1), 30});
    EXPECT_TRUE(said.wait_until(SystemClock().now() + seconds(20),
                                [](const auto& texts) { return texts.size() >= 3; }));
  }
  said.with([](const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
      EXPECT_EQ(text.substr(0, 4), "\r\x1b[K");
      EXPECT_LE(text.size(), 4U + 30U);
      EXPECT_TRUE(text.size() == 4U || text.ends_with(" s)")) << text;
      EXPECT_EQ(text.find('\n'), std::string::npos);
      EXPECT_EQ(text.find('\x1b', 4), std::string::npos) << text;
    }
    EXPECT_EQ(texts.back(), "\r\x1b[K");
  });
}

TEST(SlowNotice, ElsewhereItIsSaidOnce) {
  Guarded<int> said;
  {
    const SlowNotice notice("reading",
                            {[&](const std::string&) { said.with([](int& count) { ++count; }); },
                             milliseconds(1), Duration::zero(), 0});
    EXPECT_TRUE(said.wait_until(SystemClock().now() + seconds(20), [](int c) { return c > 0; }));
    EXPECT_FALSE(
        said.wait_until(SystemClock().now() + milliseconds(20), [](int c) { return c > 1; }));
  }
}

}  // namespace
}  // namespace weft::slow_notice_test
