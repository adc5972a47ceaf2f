#include "weft/app/program/program_process.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "weft/base/printable.h"

namespace weft {
namespace {

constexpr Duration kGrace = std::chrono::seconds(2);
constexpr int kPollMs = 50;
// Reads of what is in the pipe when the program has ended; a process that left its group may go
// on writing.
constexpr int kLastReads = 64;

class OwnedDescriptor {
 public:
  OwnedDescriptor() = default;
  ~OwnedDescriptor() { reset(); }
  OwnedDescriptor(const OwnedDescriptor&) = delete;
  OwnedDescriptor& operator=(const OwnedDescriptor&) = delete;

  void reset(int descriptor = -1) {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = descriptor;
  }
  int get() const { return descriptor_; }

 private:
  int descriptor_ = -1;
};

Status make_pipe(OwnedDescriptor& from, OwnedDescriptor& to) {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return unavailable(fmt::format("pipe: {}", std::generic_category().message(errno)));
  }
  from.reset(ends[0]);
  to.reset(ends[1]);
  return {};
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

// The variables of this process, with those of `own` in place of its own.
std::vector<std::string> variables_with(const std::vector<std::string>& own) {
  std::vector<std::string> out = own;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const std::string_view name = text.substr(0, text.find('=') + 1);
    const bool replaced = std::any_of(
        own.begin(), own.end(), [&](const std::string& each) { return each.starts_with(name); });
    if (!replaced) out.emplace_back(text);
  }
  return out;
}

// In the child, between fork() and exec(): only what is safe there in a program with threads.
[[noreturn]] void become_program(char* const* arguments, char* const* variables, int output,
                                 int report, pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // it died before
  sigset_t none;
  ::sigemptyset(&none);
  ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  const int nothing = ::open("/dev/null", O_RDONLY);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  ::execvpe(arguments[0], arguments, variables);
  const int error = errno;
  const ssize_t written = ::write(report, &error, sizeof error);
  ::_exit(written == sizeof error ? 127 : 126);
}

// The error of exec(), 0 if it went well.
int start_error(int report) {
  int error = 0;
  ssize_t got = 0;
  do {
    got = ::read(report, &error, sizeof error);
  } while (got < 0 && errno == EINTR);
  return got == sizeof error ? error : 0;
}

class RunningProgram {
 public:
  RunningProgram() = default;
  ~RunningProgram() {
    if (pid_ > 0) {
      ::kill(-pid_, SIGKILL);
      ::kill(pid_, SIGKILL);
      reap();
    }
  }
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;

  Status start(const ProgramStart& start);
  // Reads for a moment; whether the program has ended.
  bool wait_a_moment();
  void signal(int number) const { ::kill(-pid_, number); }
  // The exit code, once it has ended; the rest of its group is killed.
  int finish();
  std::string take_tail() { return std::move(tail_); }

 private:
  bool read_some();
  int reap();

  pid_t pid_ = -1;
  OwnedDescriptor output_;
  std::string tail_;
};

Status RunningProgram::start(const ProgramStart& start) {
  OwnedDescriptor output;
  OwnedDescriptor report;
  OwnedDescriptor report_end;
  WEFT_TRY(make_pipe(output_, output));
  WEFT_TRY(make_pipe(report, report_end));
  std::vector<std::string> arguments = start.arguments;
  std::vector<std::string> variables = variables_with(start.environment);
  const std::vector<char*> argument_pointers = pointers_to(arguments);
  const std::vector<char*> variable_pointers = pointers_to(variables);
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) {
    become_program(argument_pointers.data(), variable_pointers.data(), output.get(),
                   report_end.get(), parent);
  }
  if (pid_ < 0) {
    return unavailable(fmt::format("{}: cannot be started: {}", printable(arguments[0]),
                                   std::generic_category().message(errno)));
  }
  ::setpgid(pid_, pid_);  // the child does so, too: either may be first
  report_end.reset();
  ::fcntl(output_.get(), F_SETFL, O_NONBLOCK);
  if (const int error = start_error(report.get()); error != 0) {
    reap();
    return invalid_argument(
        fmt::format("program.command: {}: cannot be started: {}; expected a program in PATH, or "
                    "its path",
                    printable(arguments[0]), std::generic_category().message(error)));
  }
  return {};
}

bool RunningProgram::read_some() {
  char buffer[16384];
  const ssize_t got = ::read(output_.get(), buffer, sizeof buffer);
  if (got < 0) return errno == EINTR;
  if (got == 0) {
    output_.reset();
    return false;
  }
  tail_.append(buffer, static_cast<std::size_t>(got));
  if (tail_.size() > 2 * kProgramTailBytes) tail_.erase(0, tail_.size() - kProgramTailBytes);
  return true;
}

bool RunningProgram::wait_a_moment() {
  pollfd wait{output_.get(), POLLIN, 0};
  if (::poll(&wait, 1, kPollMs) > 0 && output_.get() >= 0) read_some();
  siginfo_t info{};
  // It stays a zombie, so that no other group can have its number until finish().
  return ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
         info.si_pid == pid_;
}

int RunningProgram::reap() {
  int status = 0;
  pid_t ended = 0;
  do {
    ended = ::waitpid(pid_, &status, 0);
  } while (ended < 0 && errno == EINTR);
  pid_ = -1;
  if (ended < 0) return 1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int RunningProgram::finish() {
  ::kill(-pid_, SIGKILL);
  for (int i = 0; i < kLastReads && output_.get() >= 0 && read_some(); ++i) {
  }
  if (tail_.size() > kProgramTailBytes) tail_.erase(0, tail_.size() - kProgramTailBytes);
  return reap();
}

}  // namespace

Result<ProgramEnd> run_program(const ProgramStart& start) {
  const SystemClock clock;
  const TimePoint begun = clock.now();
  RunningProgram program;
  WEFT_TRY(program.start(start));
  ProgramEnd out;
  TimePoint deadline = begun + start.limit;
  while (!program.wait_a_moment()) {
    const bool is_asked = out.timed_out || out.stopped;
    if (!is_asked && start.stop_asked && start.stop_asked()) {
      out.stopped = true;
    } else if (clock.now() < deadline) {
      continue;
    } else if (is_asked) {
      program.signal(SIGKILL);
      continue;
    } else {
      out.timed_out = true;
    }
    program.signal(SIGTERM);
    deadline = clock.now() + kGrace;
  }
  out.exit_code = program.finish();
  out.seconds = to_seconds(clock.now() - begun);
  out.tail = program.take_tail();
  return out;
}

std::string last_line(const std::string& tail) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t end = tail.find_last_not_of(kBlank);
  if (end == std::string::npos) return "";
  const std::size_t before = tail.find_last_of("\r\n", end);
  const std::size_t begin = before == std::string::npos ? 0 : before + 1;
  return tail.substr(begin, end + 1 - begin);
}

}  // namespace weft
