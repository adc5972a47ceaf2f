#include "weft/app/folder/control_socket.h"

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace weft::control_socket_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

class ControlSocketTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "weft-control-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }
  std::unique_ptr<ControlSocket> open(const std::string& where) {
    ControlOptions options;
    options.caller_limit = milliseconds(200);
    auto opened = ControlSocket::open(
        where, [](const std::string& line) { return "heard " + line; }, options);
    EXPECT_TRUE(opened.ok()) << opened.status().to_string();
    return opened.ok() ? std::move(opened).value() : nullptr;
  }
  // A caller that is connected and says nothing yet.
  int call() const {
    const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    const std::string path = folder + "/control.sock";
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    return socket;
  }

  std::string folder;
};

TEST_F(ControlSocketTest, AnswersOneLineWithOneLine) {
  const auto control = open(folder);
  EXPECT_EQ(ask_control(folder, "one", seconds(5)).value(), "heard one");
  EXPECT_EQ(ask_control(folder, "two", seconds(5)).value(), "heard two");
}

TEST_F(ControlSocketTest, OnlyItsOwnerMayUseIt) {
  const auto control = open(folder);
  struct stat found = {};
  ASSERT_EQ(::stat((folder + "/control.sock").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777U, 0600U);
  EXPECT_EQ(found.st_uid, ::geteuid());
}

TEST_F(ControlSocketTest, IsGoneWithItsPeer) {
  open(folder).reset();
  EXPECT_FALSE(std::filesystem::exists(folder + "/control.sock"));
  const auto nobody = ask_control(folder, "one", seconds(1));
  EXPECT_EQ(nobody.status().code(), Code::kUnavailable);
  EXPECT_THAT(nobody.status().message(), HasSubstr("no peer runs there"));
}

TEST_F(ControlSocketTest, TakesThePlaceOfADeadOne) {
  const int dead = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const std::string path = folder + "/control.sock";
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(dead, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ::close(dead);
  EXPECT_THAT(ask_control(folder, "one", seconds(1)).status().message(), HasSubstr("no peer runs"));
  const auto control = open(folder);
  EXPECT_EQ(ask_control(folder, "one", seconds(5)).value(), "heard one");
}

TEST_F(ControlSocketTest, APathMayBeLongerThanASocketsName) {
  const std::string deep = folder + "/" + std::string(120, 'x');
  std::filesystem::create_directories(deep);
  const auto control = open(deep);
  EXPECT_EQ(ask_control(deep, "far", seconds(5)).value(), "heard far");
}

TEST_F(ControlSocketTest, CallersThatAreSilentSlowOrWordyDoNotKeepOthersOut) {
  const auto control = open(folder);
  const int silent = call();
  const int slow = call();
  ASSERT_EQ(::send(slow, "half a li", 9, MSG_NOSIGNAL), 9);
  const int wordy = call();
  const std::string much(2 * kControlLineMax, 'x');
  (void)::send(wordy, much.data(), much.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  const int gone = call();
  ::close(gone);
  EXPECT_EQ(ask_control(folder, "after them", seconds(10)).value(), "heard after them");
  for (const int socket : {silent, slow, wordy}) ::close(socket);
}

TEST_F(ControlSocketTest, AFolderThatIsNotThereIsNamed) {
  const auto opened = ControlSocket::open(folder + "/none", [](const std::string&) { return ""; });
  ASSERT_FALSE(opened.ok());
  EXPECT_THAT(opened.status().message(), HasSubstr("/none"));
}

}  // namespace
}  // namespace weft::control_socket_test
