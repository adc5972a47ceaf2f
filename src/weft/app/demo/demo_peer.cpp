#include "weft/app/demo/demo_peer.h"

#include <algorithm>
#include <csignal>
#include <filesystem>

#include <fmt/format.h>

#include "weft/base/file.h"

namespace weft {
namespace {

constexpr std::size_t kErrorsBytesMax = std::size_t{1} << 20;

}  // namespace

Result<DemoProcess> DemoProcess::start(std::vector<std::string> arguments,
                                       const std::string& folder, int number) {
  std::error_code error;
  std::filesystem::remove_all(folder, error);
  std::filesystem::create_directories(folder, error);
  if (error) return unavailable(fmt::format("{}: {}", folder, error.message()));
  for (const char* more : {"--out", folder.c_str(), "--json"}) arguments.emplace_back(more);
  ChildOptions options;
  options.arguments = std::move(arguments);
  options.errors_path = folder + "/errors.txt";
  WEFT_TRY_ASSIGN(ChildProcess child, ChildProcess::start(options));
  return DemoProcess(std::move(child), folder, number);
}

std::vector<Event> DemoProcess::listen() {
  std::vector<Event> events = child_.take_events();
  for (const Event& event : events) {
    if (event.kind == "ticket") ticket_ = event.text("ticket");
    if (event.kind == "round") round_ = std::max(round_, event.integer("round"));
    if (event.kind == "started") {
      peer_id_ = event.text("peer_id");
      name_ = event.text("peer");
    }
    if (event.kind == "summary") summary_ = event;
  }
  return events;
}

void DemoProcess::kill() {
  killed_ = true;
  child_.signal(SIGKILL);
}

std::string DemoProcess::errors() const {
  const Result<Bytes> bytes = read_file(folder_ + "/errors.txt", kErrorsBytesMax);
  if (!bytes.ok()) return "";
  std::string text = to_text(*bytes);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

DemoPeer DemoProcess::report() const {
  if (killed_) return {peer_id_, "killed", std::nullopt};
  if (!summary_.has_value() && !child_.exit_code()) {
    return {peer_id_, "was at work when the demo ended", std::nullopt};
  }
  if (!summary_.has_value()) {
    const std::string words = errors();
    return {peer_id_,
            fmt::format("ended with exit code {}{}", *child_.exit_code(),
                        words.empty() ? "" : ": " + words),
            std::nullopt};
  }
  return {peer_id_, summary_->text("status"), summary_};
}

}  // namespace weft
