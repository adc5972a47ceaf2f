// team_member: a member of a swarm whose rounds have two exchanges, of the even and of the odd
// ranks, for team_test.py, which kills such processes and computes the same in sequence.
//
// usage: team_member (found MEMBERS | join TICKET) CODEC [--out DIR] [--json]
//
// The state is kElements whole numbers below kModulus, so all sums are exact. Every line of output
// is one JSON object:
//
//   {"kind":"ticket","ticket":"..."}                     once it is a member
//   {"kind":"train","round":r,"view":v,"rank":k,"members":n}   before anything of it is sent
//   {"kind":"round","round":r,"state":"..."}             after it: three hexadecimal digits a value
//   {"kind":"end","round":r,"residuals":[[...],[...]]}   after SIGTERM; then it leaves
//   {"kind":"removed"|"mismatch"|"failed","text":"..."}
#include <csignal>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/collective/swarm/swarm.h"
#include "weft/collective/team/round_plan.h"
#include "weft/collective/team/team.h"

namespace {

using namespace weft;  // NOLINT(google-build-using-namespace): a program of one file
using std::chrono::seconds;

constexpr int kElements = 40;
constexpr int kModulus = 1009;
const RoundPlan kPlan({{"even ranks", 24}, {"odd ranks", 16}});

volatile std::sig_atomic_t ending = 0;
void on_signal(int /*number*/) { ending = 1; }

struct Trainer {
  std::vector<int> state = std::vector<int>(kElements, 0);
  std::vector<std::vector<float>> inputs = std::vector<std::vector<float>>(kPlan.exchanges.size());
  std::uint64_t round = 0;
  // A `ticket` line was written.
  bool announced = false;

  // What rank r of a team of n gives for element i of an exchange.
  int value(std::size_t exchange, int r, int n, int i) const {
    const int own =
        state[static_cast<std::size_t>(kPlan.offset(exchange)) + static_cast<std::size_t>(i)];
    const auto next = static_cast<int>((round + 1) % kModulus);
    return (31 * next + 17 * static_cast<int>(exchange) + 7 * r + 3 * n + 13 * i + 5 * own) % 201 -
           100;
  }

  void apply(std::span<const float> sums) {
    for (std::size_t i = 0; i < state.size(); ++i) {
      const int next = (3 * state[i] + static_cast<int>(sums[i])) % kModulus;
      state[i] = next < 0 ? next + kModulus : next;
    }
    ++round;
    std::string text;
    char digits[8] = {};
    for (const int each : state) {
      std::snprintf(digits, sizeof digits, "%03x", static_cast<unsigned>(each));
      text += digits;
    }
    std::printf("{\"kind\":\"round\",\"round\":%llu,\"state\":\"%s\"}\n",
                static_cast<unsigned long long>(round), text.c_str());
    std::fflush(stdout);
  }

  Bytes serialise() const {
    Bytes bytes;
    for (std::size_t i = 0; i < sizeof round; ++i) {
      bytes.push_back(static_cast<std::uint8_t>(round >> (8 * i)));
    }
    for (const int each : state) {
      bytes.push_back(static_cast<std::uint8_t>(each & 0xff));
      bytes.push_back(static_cast<std::uint8_t>(each >> 8));
    }
    return bytes;
  }
  Status load(ByteSpan bytes) {
    if (bytes.size() != sizeof round + 2 * state.size()) return corrupt("state: another length");
    round = 0;
    for (std::size_t i = 0; i < sizeof round; ++i) {
      round |= static_cast<std::uint64_t>(bytes[i]) << (8 * i);
    }
    bytes = bytes.subspan(sizeof round);
    for (std::size_t i = 0; i < state.size(); ++i) state[i] = bytes[2 * i] | bytes[2 * i + 1] << 8;
    return {};
  }
};

void write_text(const char* kind, std::string_view text) {
  std::string plain;
  for (const char c : text) plain += c == '"' || c == '\\' || c < ' ' ? '\'' : c;
  std::printf("{\"kind\":\"%s\",\"text\":\"%s\"}\n", kind, plain.c_str());
  std::fflush(stdout);
}

Status train(Swarm& swarm, const Turn& turn, Trainer& trainer) {
  std::printf("{\"kind\":\"train\",\"round\":%llu,\"view\":%llu,\"rank\":%d,\"members\":%d}\n",
              static_cast<unsigned long long>(turn.round.value()),
              static_cast<unsigned long long>(turn.view.number.value()), turn.rank.value(),
              turn.members);
  std::fflush(stdout);
  WEFT_TRY(swarm.begin(kPlan));
  for (std::size_t i = 0; i < kPlan.exchanges.size(); ++i) {
    WEFT_TRY_ASSIGN(const Team team,
                    Team::derive(turn.view, turn.members, kPlan.exchanges[i].purpose));
    const TeamRank rank = team.rank_of(turn.rank);
    if (rank.value() < 0) continue;
    std::vector<float>& input = trainer.inputs[i];
    input.clear();
    for (int k = 0; k < kPlan.exchanges[i].elements; ++k) {
      input.push_back(static_cast<float>(trainer.value(i, rank.value(), team.size(), k)));
    }
    swarm.contribute(i, 0, input);
  }
  WEFT_TRY_ASSIGN(const std::span<const float> sums, swarm.finish());
  trainer.apply(sums);
  return {};
}

Status write_end(Swarm& swarm, const Trainer& trainer) {
  WEFT_TRY_ASSIGN(const ResidualState residuals, swarm.residual_state());
  std::string text;
  for (std::size_t i = 0; i < kPlan.exchanges.size(); ++i) {
    text += i == 0 ? "[" : ",[";
    if (const ResidualValues values = residuals.of(i)) {
      for (std::size_t k = 0; k < values->size(); ++k) {
        text += (k == 0 ? "" : ",") + std::to_string(static_cast<long>((*values)[k]));
      }
    }
    text += "]";
  }
  std::printf("{\"kind\":\"end\",\"round\":%llu,\"residuals\":[%s]}\n",
              static_cast<unsigned long long>(trainer.round), text.c_str());
  std::fflush(stdout);
  return {};
}

Status write_ticket(Swarm& swarm, Trainer& trainer) {
  if (trainer.announced) return {};
  WEFT_TRY_ASSIGN(const Ticket ticket, swarm.ticket(std::chrono::hours(1)));
  std::printf("{\"kind\":\"ticket\",\"ticket\":\"%s\"}\n", format_ticket(ticket).c_str());
  std::fflush(stdout);
  trainer.announced = true;
  return {};
}

void write_events(Swarm& swarm) {
  for (const SwarmEvent& event : swarm.take_events()) {
    if (event.kind == SwarmEventKind::kRemoved) write_text("removed", event.text);
    if (event.kind == SwarmEventKind::kStateMismatch) write_text("mismatch", event.text);
  }
}

// Ok for the end.
Status run(Swarm& swarm, Trainer& trainer) {
  for (;;) {
    WEFT_TRY_ASSIGN(const Turn turn, swarm.next());
    write_events(swarm);
    switch (turn.kind) {
      case TurnKind::kWait:
        if (trainer.round == 0 && !trainer.announced)
          static_cast<void>(write_ticket(swarm, trainer));
        if (ending != 0 && !trainer.announced) return {};
        break;
      case TurnKind::kLoadState:
        WEFT_TRY(trainer.load(turn.state.span()));
        break;
      case TurnKind::kSnapshot:
        swarm.publish_state(turn.round, trainer.serialise());
        break;
      case TurnKind::kApply:
        trainer.apply(turn.reduced);
        swarm.applied(turn.round, {xxh3_128(trainer.serialise()), {}});
        break;
      case TurnKind::kTrain: {
        WEFT_TRY(write_ticket(swarm, trainer));
        if (ending != 0) {
          WEFT_TRY(write_end(swarm, trainer));
          return swarm.leave(seconds(5));
        }
        const Status done = train(swarm, turn, trainer);
        if (done.code() == Code::kAborted) break;
        WEFT_TRY(done);
        swarm.applied(turn.round, {xxh3_128(trainer.serialise()), {}});
        break;
      }
      case TurnKind::kMerge:
      case TurnKind::kFinished:
        return internal_error("a turn that this run does not have");
    }
  }
}

Status start(const std::vector<std::string>& arguments, Trainer& trainer) {
  const std::string recipe = "two teams of numbers\n";
  SwarmOptions options;
  options.listen = "127.0.0.1:0";
  options.recipe_text = recipe;
  options.membership.recipe_hash = sha256(as_bytes(std::string_view(recipe)));
  options.start_timeout = seconds(60);
  WEFT_TRY_ASSIGN(options.codec, Codec::parse(arguments[2]));
  std::unique_ptr<Swarm> swarm;
  if (arguments[0] == "found") {
    options.start_members = std::stoi(arguments[1]);
    WEFT_TRY_ASSIGN(swarm, Swarm::found(std::move(options)));
  } else {
    WEFT_TRY_ASSIGN(const Ticket ticket, parse_ticket(arguments[1]));
    WEFT_TRY_ASSIGN(swarm, Swarm::join(std::move(options), ticket));
  }
  return run(*swarm, trainer);
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGTERM, on_signal);
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() < 3) return 2;
  Trainer trainer;
  const Status ended = start(arguments, trainer);
  if (!ended.ok()) write_text("failed", ended.to_string());
  return ended.ok() ? 0 : 1;
}
