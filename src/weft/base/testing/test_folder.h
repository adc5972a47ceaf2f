// TestFolder: a folder for files of a test's own. For tests.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

namespace weft {

// There and empty from the beginning, gone with the object. A fixture may have it as a base.
class TestFolder {
 public:
  TestFolder() { std::filesystem::create_directories(root_); }
  ~TestFolder() { std::filesystem::remove_all(root_); }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  // Writes the file and makes the folders that it needs; its path.
  std::string put(const std::string& name, const std::string& text) {
    std::filesystem::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name, std::ios::binary) << text;
    return path(name);
  }
  std::string path(const std::string& name) const { return (root_ / name).string(); }

 protected:
  // No other process or test has it.
  static std::string next_name() {
    static int count = 0;
    return "weft_test_" + std::to_string(::getpid()) + "_" + std::to_string(count++);
  }
  std::filesystem::path root_ = std::filesystem::temp_directory_path() / next_name();
};

}  // namespace weft
