#include "weft/app/member/member_session.h"

#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "weft/app/folder/control_commands.h"
#include "weft/app/folder/control_socket.h"
#include "weft/app/member/run_end.h"
#include "weft/app/terminal/interrupt.h"
#include "weft/app/terminal/standard_output.h"
#include "weft/base/parallel.h"
#include "weft/net/rendezvous_opendht.h"
#include "weft/train/exchange/audit_exchange.h"
#include "weft/train/run/run_loop.h"

namespace weft {
namespace {

constexpr Duration kReportInterval = std::chrono::milliseconds(200);
constexpr Duration kLocalPeersLimit = std::chrono::seconds(30);

void tell_started(MemberSession& session) {
  const Recipe& recipe = session.trainer->recipe();
  session.log->append(Event("started")
                          .with("run_id", session.run_id)
                          .with("peer_id", session.group->self().to_string())
                          .with("peer", session.group->self().short_name())
                          .with("role", session.role)
                          .with("model", recipe.model.name)
                          .with("parameters", session.trainer->layout().num_parameters())
                          .with("data", recipe.data.name)
                          .with("train_samples", session.trainer->train_samples())
                          .with("steps", recipe.run.steps)
                          .with("global_batch", recipe.run.global_batch)
                          .with("threads", thread_count()));
}

// Without it the run goes on as well; it only cannot be spoken to.
std::unique_ptr<ControlSocket> open_control(MemberSession& session) {
  ControlContext context;
  context.run_id = session.run_id;
  context.ticket_valid_s = session.trainer->recipe().group.ticket_valid_h * 3600;
  Result<std::unique_ptr<ControlSocket>> opened = ControlSocket::open(
      session.out->path(), [&group = *session.group, context](const std::string& request) {
        return answer_control(group, context, request);
      });
  if (opened.ok()) return std::move(opened).value();
  session.log->append(Event("note").with("text", opened.status().message()));
  return nullptr;
}

}  // namespace

Status open_output(MemberSession& session, const MemberRequest& request, const std::string& out,
                   const std::string& default_out) {
  WEFT_TRY_ASSIGN(OutFolder folder,
                  out.empty() ? OutFolder::open_free(default_out) : OutFolder::open(out));
  const std::string folder_events = folder.events_path();
  session.out.emplace(std::move(folder));
  session.terminal.emplace(Terminal::to_standard_output(output_mode(request.json), session.clock));
  go_on_without_output(fmt::format("the run goes on; its events are in {}", folder_events));
  if (request.tensorboard) {
    WEFT_TRY_ASSIGN(session.tensorboard, TensorboardEvents::open(session.out->tensorboard_path(),
                                                                 session.clock.unix_time_s()));
  }
  WEFT_TRY_ASSIGN(session.log, EventLog::open(session.out->events_path(), session.clock,
                                              [&](const Event& event) {
                                                log_event(event);
                                                session.terminal->hear(event);
                                                if (session.tensorboard)
                                                  session.tensorboard->hear(event);
                                              }));
  return {};
}

Result<PeerSettings> peer_settings(const MemberSession& session, const MemberRequest& request) {
  PeerSettings settings;
  WEFT_TRY_ASSIGN(settings.identity, PeerIdentity::load_or_create(session.out->identity_path()));
  settings.listen = request.listen;
  settings.map_port = request.map_port;
  settings.advertise = request.advertise;
  settings.rendezvous = opendht_maker;
  return settings;
}

ExitCode take_part(MemberSession& session, bool founder) {
  end_politely_if_interrupted(kPoliteEnd);
  tell_started(session);
  if (session.trainer->recipe().group.audit) {
    session.audit = make_audit_exchange(*session.group, *session.log);
  }
  Checkpoints checkpoints(session.out->checkpoints_path(),
                          session.trainer->recipe().checkpoint.keep, session.run_id);
  RunLoopOptions options;
  options.run_id = session.run_id;
  options.started = session.started;
  options.founder = founder;
  options.stop_asked = interrupted;
  // With an engine of fixed members there is nothing to tell.
  options.report_interval = kReportInterval;
  std::unique_ptr<ControlSocket> control = open_control(session);
  RoundExchange& rounds = session.audit ? *session.audit : *session.group;
  RunLoop loop(*session.trainer, {rounds, *session.group}, *session.log,
               session.saves_checkpoints ? &checkpoints : nullptr, session.clock, options);
  const RunResult result = loop.run();
  control.reset();
  session.audit.reset();
  session.group.reset();
  Status written = write_summary(session.out->summary_path(), result.summary);
  session.log->append(summary_event(result.summary));
  session.terminal->finish();
  say_summary(*session.terminal, result.summary, *session.out);
  if (session.local_peers != nullptr) {
    session.local_peers->wait(kLocalPeersLimit, session.clock, *session.log);
  }
  const RunFiles files = {*session.out, *session.log, session.tensorboard.get(), *session.terminal};
  return end_of_run(result, written, files);
}

Status tell_ticket(MemberSession& session, std::string& ticket) {
  const std::int64_t valid_h = session.trainer->recipe().group.ticket_valid_h;
  WEFT_TRY_ASSIGN(ticket, session.group->ticket(std::chrono::hours(valid_h)));
  Event event = Event("ticket")
                    .with("ticket", ticket)
                    .with("run_id", session.run_id)
                    .with("valid_h", valid_h);
  // A peer on the same network can join by the short code; the run goes on without one.
  const Result<std::string> code = session.group->join_code(ticket);
  if (code.ok()) event.with("code", *code);
  session.log->append(std::move(event));
  return {};
}

}  // namespace weft
