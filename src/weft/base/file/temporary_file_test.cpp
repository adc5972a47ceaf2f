#include "weft/base/temporary_file.h"

#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "weft/base/file.h"
#include "weft/base/testing/test_folder.h"
#include "weft/base/testing/test_process.h"

namespace weft::temporary_file_test {
namespace {

bool every_name(std::string_view) { return true; }

TEST(TemporaryFile, AProcessThatEndsAtOnceLeavesNone) {
  TestFolder folder;
  const std::string whole = folder.put("whole", "stays");
  std::vector<std::string> left;
  {
    const TemporaryName first(folder.path("a"));
    const TemporaryName second(folder.path("a"));
    for (const TemporaryName* name : {&first, &second}) {
      ASSERT_TRUE(write_output_file(name->text(), as_bytes("half")).ok());
      left.push_back(name->text());
    }
    ASSERT_NE(left[0], left[1]);
    remove_temporaries_at_once();
  }
  for (const std::string& name : left) EXPECT_FALSE(is_file(name)) << name;
  EXPECT_TRUE(is_file(whole));
}

TEST(TemporaryFile, OneThatHasTakenItsPlaceIsNoTemporaryAnyMore) {
  TestFolder folder;
  std::string name;
  {
    const TemporaryName temporary(folder.path("a"));
    name = temporary.text();
  }
  ASSERT_TRUE(write_output_file(name, as_bytes("of somebody else by now")).ok());
  remove_temporaries_at_once();
  EXPECT_TRUE(is_file(name));
}

TEST(TemporaryFile, ThereIsRoomAgainAfterMoreThanTheTableHolds) {
  TestFolder folder;
  std::vector<std::unique_ptr<TemporaryName>> names;
  names.reserve(100);
  for (int count = 0; count < 100; ++count) {
    names.push_back(std::make_unique<TemporaryName>(folder.path("a")));
  }
  names.clear();
  const TemporaryName later(folder.path("a"));
  ASSERT_TRUE(write_output_file(later.text(), as_bytes("half")).ok());
  remove_temporaries_at_once();
  EXPECT_FALSE(is_file(later.text()));
}

TEST(TemporaryFile, OnlyThoseOfEndedProcessesAndOfOurNamesAreStale) {
  TestFolder folder;
  const pid_t ended = ended_process();
  const std::string stale = folder.put(fmt::format("a.tmp{}-7", ended), "");
  // A process before this one may have had its number.
  const std::string same_number = folder.put(fmt::format("a.tmp{}-999999", ::getpid()), "");
  const TemporaryName at_work(folder.path("a"));
  ASSERT_TRUE(write_output_file(at_work.text(), as_bytes("half")).ok());
  std::vector<std::string> kept = {at_work.text()};
  for (const std::string& name :
       {fmt::format("a.tmp{}-1", ::getppid()), fmt::format("b.tmp{}-1", ended),
        fmt::format("a.tmp{}", ended), fmt::format("a.tmp{}-", ended),
        fmt::format("a.tmp{}-x", ended), fmt::format(".tmp{}-1", ended), std::string("a.tmp0-1"),
        std::string("a.tmp-1-1"), std::string("a.tmp99999999999999-1"), std::string("a")}) {
    kept.push_back(folder.put(name, ""));
  }
  remove_stale_temporaries(folder.path(""), [](std::string_view file) { return file == "a"; });
  EXPECT_FALSE(is_file(stale));
  EXPECT_FALSE(is_file(same_number));
  for (const std::string& name : kept) EXPECT_TRUE(is_file(name)) << name;
}

TEST(TemporaryFile, LinksAndFoldersOfSuchANameStay) {
  TestFolder folder;
  const std::string name = fmt::format(".tmp{}-1", ended_process());
  std::filesystem::create_directories(folder.path("folder" + name));
  std::filesystem::create_symlink("nowhere", folder.path("link" + name));
  remove_stale_temporaries(folder.path(""), every_name);
  EXPECT_TRUE(is_folder(folder.path("folder" + name)));
  EXPECT_TRUE(std::filesystem::is_symlink(folder.path("link" + name)));
  remove_stale_temporaries(folder.path("nowhere"), every_name);
}

}  // namespace
}  // namespace weft::temporary_file_test
