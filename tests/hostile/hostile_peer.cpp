// hostile_peer: tries messages on the members of a run, as it is told to on standard input.
//
//   hostile_peer --types                 one line a type of frame: its name
//   hostile_peer --seed S                then commands, one a line, each answered by a line of
//   JSON:
//     target HOST:PORT PEER_ID           a member to speak to; the first one is asked to learn from
//     ticket LINE | revoked LINE         one that is good, and one that was taken back
//     key former|banned|member FILE      whose key to speak with in that role
//     trap HOST:PORT                     the address to tell where one is wanted
//     learn                              joins far enough to know what a ticket holder can know
//     try NUMBER ROLE TYPE CONTENT       attacker.h and contents.h name them
//     rest                               ends the links of joiner and member
//
// The same seed, number, role, type and content send the same, as far as the run lets it.
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include "attacker.h"

namespace weft::hostile {
namespace {

// Between two signs of life of a member or joiner that has nothing to say.
constexpr int kBeatMs = 100;

std::string escaped(std::string_view text) {
  std::string out;
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    if (letter == '"' || letter == '\\') out += '\\';
    out += byte < 0x20 || byte > 0x7e ? '?' : letter;
  }
  return out;
}

std::string answer_of(const Status& status) {
  return fmt::format(R"({{"ok":{},"error":"{}"}})", status.ok(), escaped(status.message()));
}

std::string_view stage_name(Stage stage) {
  switch (stage) {
    case Stage::kPlain:
      return "plain";
    case Stage::kHandshake:
      return "handshake";
    case Stage::kLink:
      return "link";
  }
  return "";
}

std::string answer_of(const Outcome& outcome, const std::vector<FrameKind>& kinds) {
  std::string answers;
  for (const auto& [type, count] : outcome.answers) {
    std::string name = std::to_string(type);
    for (const FrameKind& kind : kinds) {
      if (kind.type == type) name = kind.name;
    }
    answers += fmt::format(R"({}"{}":{})", answers.empty() ? "" : ",", name, count);
  }
  return fmt::format(
      R"({{"ok":true,"stage":"{}","begun":{},"error":"{}","ended":{},"farewell":"{}","sent":{},)"
      R"("answers":{{{}}},"bytes":{},"widened":{}}})",
      stage_name(outcome.stage), outcome.begun, escaped(outcome.error), outcome.ended,
      escaped(outcome.farewell), outcome.frames_sent, answers, outcome.bytes_heard,
      outcome.widened);
}

Result<PeerId> parse_peer(const std::string& text) {
  WEFT_TRY_ASSIGN(const Bytes bytes, from_hex(text));
  PeerId id;
  if (bytes.size() != id.bytes.size()) return invalid_argument("target: expected 64 digits");
  std::copy(bytes.begin(), bytes.end(), id.bytes.begin());
  return id;
}

class Commands {
 public:
  explicit Commands(std::uint64_t seed) : kinds_(frame_kinds()), attacker_(seed, kinds_) {}

  // Until standard input ends.
  void run() {
    std::string rest;
    for (;;) {
      pollfd input{STDIN_FILENO, POLLIN, 0};
      if (::poll(&input, 1, kBeatMs) <= 0) {
        attacker_.keep_alive();
        continue;
      }
      char piece[4096];
      const ssize_t got = ::read(STDIN_FILENO, piece, sizeof piece);
      if (got <= 0) return;
      rest.append(piece, static_cast<std::size_t>(got));
      for (std::size_t end = rest.find('\n'); end != std::string::npos; end = rest.find('\n')) {
        std::fputs((answer(rest.substr(0, end)) + "\n").c_str(), stdout);
        std::fflush(stdout);
        rest.erase(0, end + 1);
      }
    }
  }

 private:
  std::string answer(const std::string& line) {
    std::istringstream in(line);
    std::string command;
    in >> command;
    if (command == "try") {
      const Result<Try> what = parse_try(in);
      return what.ok() ? answer_of(attacker_.attempt(*what), kinds_) : answer_of(what.status());
    }
    return answer_of(obey(command, in));
  }

  Result<Try> parse_try(std::istringstream& in) const {
    Try what;
    std::string role;
    std::string type;
    std::string content;
    in >> what.number >> role >> type >> content;
    const std::optional<Role> known_role = parse_role(role);
    const std::optional<Content> known_content = parse_content(content);
    const auto kind = std::find_if(kinds_.begin(), kinds_.end(),
                                   [&](const FrameKind& one) { return one.name == type; });
    if (!known_role || !known_content || kind == kinds_.end()) {
      return invalid_argument("try: expected NUMBER ROLE TYPE CONTENT");
    }
    what.role = *known_role;
    what.kind = *kind;
    what.content = *known_content;
    return what;
  }

  Status obey(const std::string& command, std::istringstream& in) {
    std::string first;
    std::string second;
    in >> first >> second;
    if (command == "target") {
      WEFT_TRY_ASSIGN(const PeerId peer, parse_peer(second));
      attacker_.add_target({first, peer});
      return {};
    }
    if (command == "ticket" || command == "revoked") {
      WEFT_TRY_ASSIGN(const Ticket ticket, parse_ticket(first));
      if (command == "ticket") attacker_.set_ticket(ticket);
      if (command == "revoked") attacker_.set_revoked(ticket);
      return {};
    }
    if (command == "key") {
      const std::optional<Role> role = parse_role(first);
      if (!role) return invalid_argument("key: expected a role");
      return attacker_.take_key(*role, second);
    }
    if (command == "trap") {
      attacker_.set_trap(first);
      return {};
    }
    if (command == "learn") return attacker_.learn();
    if (command == "rest") {
      attacker_.rest();
      return {};
    }
    return invalid_argument("no such command: " + command);
  }

  std::vector<FrameKind> kinds_;
  Attacker attacker_;
};

int main_of(const std::vector<std::string>& arguments) {
  if (arguments.size() == 1 && arguments[0] == "--types") {
    for (const FrameKind& kind : frame_kinds()) std::puts(std::string(kind.name).c_str());
    return 0;
  }
  if (arguments.size() == 2 && arguments[0] == "--seed") {
    Commands(std::strtoull(arguments[1].c_str(), nullptr, 10)).run();
    return 0;
  }
  std::fputs("usage: hostile_peer --types | --seed S\n", stderr);
  return 2;
}

}  // namespace
}  // namespace weft::hostile

int main(int argc, char** argv) {
  return weft::hostile::main_of(std::vector<std::string>(argv + 1, argv + argc));
}
