#include "weft/app/member/child_process.h"

#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace weft {
namespace {

constexpr std::size_t kLineBytesMax = std::size_t{1} << 20;

Status spawn_failure(const char* what, int error) {
  return unavailable(
      fmt::format("local peer: {}: {}", what, std::generic_category().message(error)));
}

class FileActions {
 public:
  FileActions() { posix_spawn_file_actions_init(&actions_); }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;

  posix_spawn_file_actions_t* get() { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

}  // namespace

Result<ChildProcess> ChildProcess::start(const ChildOptions& options) {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return spawn_failure("pipe", errno);
  FileActions actions;
  posix_spawn_file_actions_addopen(actions.get(), STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (options.read_events) {
    posix_spawn_file_actions_adddup2(actions.get(), ends[1], STDOUT_FILENO);
  } else {
    posix_spawn_file_actions_addopen(actions.get(), STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  }
  posix_spawn_file_actions_addopen(actions.get(), STDERR_FILENO, options.errors_path.c_str(),
                                   O_WRONLY | O_CREAT | O_APPEND, 0644);
  std::vector<std::string> arguments = options.arguments;
  arguments.insert(arguments.begin(), "weft");
  std::vector<char*> pointers;
  pointers.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  // The first of two variables with one name counts.
  std::string ticket = "WEFT_TICKET=" + options.ticket;
  std::string parent = "WEFT_PARENT=" + std::to_string(::getpid());
  std::vector<char*> variables = {parent.data()};
  if (!options.ticket.empty()) variables.push_back(ticket.data());
  for (char** variable = environ; *variable != nullptr; ++variable) variables.push_back(*variable);
  variables.push_back(nullptr);
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, "/proc/self/exe", actions.get(), nullptr, pointers.data(),
                                  variables.data());
  ::close(ends[1]);
  if (error != 0) {
    ::close(ends[0]);
    return spawn_failure("cannot be started", error);
  }
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return ChildProcess(pid, ends[0]);
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      output_(std::exchange(other.output_, -1)),
      unread_(std::move(other.unread_)),
      exit_code_(other.exit_code_) {}

ChildProcess::~ChildProcess() {
  if (output_ >= 0) ::close(output_);
  if (pid_ > 0 && !has_ended()) {
    signal(SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
}

std::vector<Event> ChildProcess::take_events() {
  std::vector<Event> events;
  char buffer[16384];
  while (output_ >= 0) {
    const ssize_t got = ::read(output_, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) break;
    if (got <= 0) {
      ::close(output_);
      output_ = -1;
      break;
    }
    unread_.append(buffer, static_cast<std::size_t>(got));
    std::size_t begin = 0;
    for (std::size_t end = unread_.find('\n'); end != std::string::npos;
         end = unread_.find('\n', begin)) {
      const std::string_view line = std::string_view(unread_).substr(begin, end - begin);
      if (Result<Event> event = parse_event(line); event.ok()) events.push_back(*event);
      begin = end + 1;
    }
    unread_.erase(0, begin);
    if (unread_.size() > kLineBytesMax) unread_.clear();
  }
  return events;
}

bool ChildProcess::has_ended() {
  if (exit_code_.has_value() || pid_ <= 0) return true;
  int status = 0;
  const pid_t ended = ::waitpid(pid_, &status, WNOHANG);
  if (ended == 0 || (ended < 0 && errno == EINTR)) return false;
  exit_code_ = ended < 0 ? 1 : (WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
  return true;
}

void ChildProcess::signal(int number) const {
  if (pid_ > 0 && !exit_code_.has_value()) ::kill(pid_, number);
}

void wait_for_output(const std::vector<ChildProcess*>& children, Duration limit) {
  std::vector<pollfd> waits;
  for (const ChildProcess* child : children) {
    if (child->output() >= 0) waits.push_back({child->output(), POLLIN, 0});
  }
  const auto limit_ms = std::chrono::duration_cast<std::chrono::milliseconds>(limit).count();
  ::poll(waits.data(), waits.size(), static_cast<int>(limit_ms));
}

}  // namespace weft
