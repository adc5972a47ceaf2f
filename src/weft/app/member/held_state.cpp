#include "weft/app/member/held_state.h"

#include <algorithm>
#include <chrono>
#include <string>

#include <fmt/format.h>

#include "weft/app/terminal/interrupt.h"
#include "weft/collective/codec/residual_file.h"
#include "weft/collective/swarm/record_file.h"
#include "weft/net/event_loop.h"
#include "weft/train/run/checkpoint_run.h"
#include "weft/train/run/checkpoints.h"

namespace weft {
namespace {

// For the others to be started again, one of them with --resume.
constexpr Duration kComebackLimit = std::chrono::minutes(30);
constexpr Duration kComebackPause = std::chrono::seconds(1);
constexpr Duration kComebackTold = std::chrono::seconds(10);

void say_note(EventLog& log, const std::string& text) {
  log.append(Event("note").with("text", text));
}

}  // namespace

std::optional<VoterRecord> past_membership(const OutFolder& out, const PeerIdentity& identity,
                                           EventLog& log) {
  Result<std::optional<VoterRecord>> loaded = RecordFile::load(out.record_path(), identity.id());
  if (loaded.ok()) return std::move(loaded).value();
  say_note(log, loaded.status().message());
  return std::nullopt;
}

Ticket with_old_members(Ticket ticket, const VoterRecord& past) {
  std::vector<Member> all;
  if (past.vote) all = past.vote->notice.value.members;
  // Those that died before may be the first to be back.
  all.insert(all.end(), past.former.begin(), past.former.end());
  for (const Member& member : all) {
    const bool known =
        std::any_of(ticket.members.begin(), ticket.members.end(),
                    [&](const PeerAddress& address) { return address.id == member.id; });
    if (known || member.id == past.self || member.endpoints.empty()) continue;
    if (ticket.members.size() < kTicketAddressesMax) {
      ticket.members.push_back({member.id, member.endpoints});
    }
  }
  return ticket;
}

Result<RunId> checkpoint_run(const OutFolder& out) {
  WEFT_TRY_ASSIGN(const std::string text, newest_checkpoint_run(out.checkpoints_path()));
  RunId run{};
  const Result<Bytes> id = from_hex(text);
  if (id.ok() && id->size() == run.size()) std::copy(id->begin(), id->end(), run.begin());
  return run;
}

Result<HeldCheckpoint> held_checkpoint(Trainer& trainer, const OutFolder& out,
                                       const std::optional<VoterRecord>& past, const RunId& run,
                                       const ResumeOptions& resume) {
  const Checkpoints checkpoints(out.checkpoints_path(), 1, "");
  // The group goes on from the newest state of all: an older one of this peer takes nothing away.
  const auto loaded = load_to_resume(checkpoints, trainer, resume);
  if (loaded.ok() && !loaded->has_value()) return HeldCheckpoint();
  HeldCheckpoint held;
  std::string fault = loaded.ok() ? std::string() : loaded.status().message();
  if (loaded.ok()) {
    held.round = trainer.rounds_done();
    WEFT_TRY_ASSIGN(held.run, checkpoint_run(out));
    if (held.run != run && !(past && is_of_history(*past, held.run, held.round))) {
      fault = fmt::format(
          "{}: is of another run, or this folder has no record of the one that it is of",
          (*loaded)->path);
    }
  }
  if (fault.empty()) return held;
  WEFT_TRY_ASSIGN(const std::string aside, out.set_checkpoints_aside());
  if (resume.note) {
    resume.note(
        fmt::format("{}; it is not offered to the group, and set aside in {}", fault, aside));
  }
  return HeldCheckpoint();
}

ResidualState held_residual(const OutFolder& out, const SwarmOptions& options, Round round,
                            EventLog& log) {
  if (options.codec.is_exact() || round == Round()) return {};
  const Checkpoints checkpoints(out.checkpoints_path(), 1, "");
  Result<ResidualState> state =
      read_residual_file(checkpoints.residual_path(), options.codec,
                         static_cast<std::uint64_t>(options.vector_elements_max));
  if (!state.ok()) {
    say_note(log, std::string(state.status().message()));
    return {};
  }
  return state->round == round ? *std::move(state) : ResidualState{};
}

bool Comeback::waits(const Status& why) {
  // Refused for good, or a ticket that is none.
  if (why.code() == Code::kInvalidArgument || interrupted()) return false;
  const Duration waited = clock_.now() - began_;
  if (waited >= kComebackLimit) return false;
  if (!told_ || clock_.now() - *told_ >= kComebackTold) {
    told_ = clock_.now();
    say_note(log_,
             fmt::format("no member of the run answers yet ({}); asked again for {:.0f} min more. "
                         "If all have died, one of them has to be started by weft run --resume, "
                         "with the --listen that it had",
                         why.message(), to_seconds(kComebackLimit - waited) / 60.0));
  }
  EventLoop pause;
  pause.run_until([] { return interrupted(); }, kComebackPause);
  return !interrupted();
}

}  // namespace weft
