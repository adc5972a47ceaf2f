#include "weft/app/member/local_peers.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>

#include <fmt/format.h>
#include <unistd.h>

#include "weft/app/terminal/exit_code.h"
#include "weft/app/terminal/interrupt.h"
#include "weft/train/data/data_files.h"

namespace weft {
namespace {

constexpr Duration kPeerPoll = std::chrono::milliseconds(20);

Event process_event(std::size_t number, pid_t pid, std::string text) {
  Event event("process");
  event.with("process", number).with("pid", pid).with("text", std::move(text));
  return event;
}

}  // namespace

Result<std::unique_ptr<LocalPeers>> LocalPeers::start(const OutFolder& out,
                                                      const std::string& ticket, int count,
                                                      std::vector<std::string> flags,
                                                      EventLog& log) {
  flags.insert(flags.begin(), {"join", "--yes", "--json"});
  auto peers = std::make_unique<LocalPeers>();
  for (int number = 2; number <= count; ++number) {
    const std::string folder = out.peer_path(number);
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) return unavailable(fmt::format("{}: {}", folder, error.message()));
    ChildOptions options;
    options.arguments = flags;
    options.arguments.insert(options.arguments.end(), {"--out", folder});
    options.ticket = ticket;
    options.errors_path = folder + "/errors.txt";
    options.read_events = false;
    WEFT_TRY_ASSIGN(ChildProcess child, ChildProcess::start(options));
    forward_interrupts_to(child.pid());
    log.append(process_event(static_cast<std::size_t>(number), child.pid(),
                             fmt::format("started; its files are in {}", folder)));
    peers->children_.push_back(std::make_unique<ChildProcess>(std::move(child)));
  }
  return peers;
}

void LocalPeers::wait(Duration limit, const Clock& clock, EventLog& log) {
  const TimePoint deadline = deadline_after(clock, limit);
  for (std::size_t i = 0; i < children_.size(); ++i) {
    ChildProcess& child = *children_[i];
    const pid_t pid = child.pid();
    while (!child.has_ended() && clock.now() < deadline) wait_for_output({}, kPeerPoll);
    if (child.has_ended()) stop_forwarding_to(pid);
    if (!child.has_ended()) {
      child.signal(SIGKILL);
      stop_forwarding_to(pid);
      log.append(process_event(i + 2, pid, "did not end in time and was killed"));
    } else if (child.exit_code() != static_cast<int>(ExitCode::kOk)) {
      log.append(process_event(
          i + 2, pid, fmt::format("ended with exit code {}", child.exit_code().value_or(1))));
    }
  }
}

Result<std::vector<std::string>> local_peer_flags(const Recipe& recipe, const DataChoice& choice) {
  WEFT_TRY_ASSIGN(const DataFiles files, find_data_files(recipe, data_places(choice)));
  std::vector<std::string> flags = data_flags(files);
  if (files.data.empty() && !choice.data.empty()) {
    flags.insert(flags.end(), {"--data", choice.data});
  }
  return flags;
}

int threads_for(int peers) {
  const auto cores = static_cast<int>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  return std::max(1, cores / std::max(1, peers));
}

}  // namespace weft
