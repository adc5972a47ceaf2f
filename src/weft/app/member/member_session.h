// One process as a member: what `weft run` and `weft join` have in common, from the opened output
// folder to the files at the end.
//
// Where it stands: peer_command fills a session and then takes part. Threads: the main thread.
// Fails: kInvalidArgument, kUnavailable and others of the folder, the identity and the event log.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/app/folder/out_folder.h"
#include "weft/app/member/local_peers.h"
#include "weft/app/terminal/environment.h"
#include "weft/app/terminal/exit_code.h"
#include "weft/app/terminal/terminal.h"
#include "weft/base/status.h"
#include "weft/base/time.h"
#include "weft/collective/swarm/swarm.h"
#include "weft/train/event/event_log.h"
#include "weft/train/event/tensorboard_events.h"
#include "weft/train/exchange/group_exchange.h"
#include "weft/train/run/trainer.h"
#include "weft/train/run/wiring.h"

namespace weft {

// What the terminal says after the first interrupt.
inline constexpr const char* kPoliteEnd =
    "this peer finishes its round, leaves and saves the state (once more: at once)";

// The settings that runs and joins share.
struct MemberRequest {
  std::string out;  // empty: a folder below weft-runs
  std::string listen = "*:0";
  std::optional<int> threads;
  bool json = false;
  // Ask the router of this network to open the port.
  bool map_port = false;
  // HOST:PORT each; others dial these first.
  std::vector<std::string> advertise;
  bool tensorboard = false;
  DataChoice data;
};

// What a peer needs whether it founds or joins. Order matters: later members use earlier ones.
struct MemberSession {
  SystemClock clock;
  TimePoint started;
  std::string run_id;
  std::string role;
  std::optional<OutFolder> out;
  std::optional<Terminal> terminal;
  std::unique_ptr<TensorboardEvents> tensorboard;  // or none
  std::unique_ptr<EventLog> log;
  std::unique_ptr<Trainer> trainer;
  std::unique_ptr<GroupExchange> group;
  // The rounds of `group` as they are logged; null where the recipe asks for no audit.
  std::unique_ptr<RoundExchange> audit;
  std::unique_ptr<LocalPeers> local_peers;
  // Where a join failed: what was learned of the run.
  RunNews news;
  // One member of an engine is enough.
  bool saves_checkpoints = true;
};

// Opens the output folder, the terminal and the event log. An empty `out` is a free folder named
// after `default_out`.
Status open_output(MemberSession& session, const MemberRequest& request, const std::string& out,
                   const std::string& default_out);
Result<PeerSettings> peer_settings(const MemberSession& session, const MemberRequest& request);

// The run itself, from the first turn to the files at the end.
ExitCode take_part(MemberSession& session, bool founder);

// Makes `ticket`, and writes it into the event log, from where the terminal prints it.
Status tell_ticket(MemberSession& session, std::string& ticket);

}  // namespace weft
