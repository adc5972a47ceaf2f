#include "weft/app/out_folder.h"

#include <filesystem>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace weft::out_folder_test {
namespace {

TEST(OutFolder, ItsLockIsNobodyElses) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("weft-out-folder-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  // An earlier release let others open it.
  const std::string lock = (folder / ".lock").string();
  ::close(::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  {
    const Result<OutFolder> out = OutFolder::open(folder.string());
    ASSERT_TRUE(out.ok()) << out.status().to_string();
    struct stat status = {};
    ASSERT_EQ(::stat(lock.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0600U);
    EXPECT_EQ(OutFolder::open(folder.string()).status().code(), Code::kUnavailable);
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace weft::out_folder_test
