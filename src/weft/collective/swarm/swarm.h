// Swarm: one peer's part in a run, as the training thread sees it. No member is special.
//
// The training thread asks next() what to do and does it:
//
//   for (;;) {
//     WEFT_TRY_ASSIGN(Turn turn, swarm.next());
//     switch (turn.kind) {
//       case kWait:      break;                               // at most `next_limit` has passed
//       case kLoadState: load(turn.state);                    // then applied() is NOT called
//                        break;
//       case kSnapshot:  swarm.publish_state(turn.round, serialised());  break;
//       case kMerge:     average(turn.state, turn.weight);      // nor here
//                        break;
//       case kApply:     update(turn.reduced); swarm.applied(turn.round, hash());  break;
//       case kTrain:     swarm.lend_state(serialised);        // if it may; see there
//                        swarm.begin(elements);
//                        backward(... swarm.contribute(offset, values) ...);
//                        swarm.report(bytes);                 // if rounds have reports
//                        finish() -> kAborted: continue; ok: update(); swarm.applied(...);  break;
//       case kFinished:  return;
//     }
//   }
//
// The vector of a round has the same number of elements at every member; every element must be
// contributed once. A round may have several vectors, each of another team of the members: begin it
// with a RoundPlan, and name the exchange with each contribution. Values are summed in an order
// fixed by the ring, so all members get the same bits; inputs are never written to. See
// docs/ARCHITECTURE.md, "Threads".
//
// Threads: one owner (the training thread) calls everything but status(), take_events() and
// ticket(), which any thread may call. A loop thread of its own does the network.
// Fails: next() with kUnavailable (removed from the view, quorum lost and the recipe says exit,
// join refused) or kCorrupt (this member's state differs from the others'): leave, or join anew.
// finish() with kAborted: the view changed; call next() again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/aggregate/aggregator.h"
#include "weft/base/bytes.h"
#include "weft/base/status.h"
#include "weft/base/time.h"
#include "weft/codec/wire_precision.h"
#include "weft/collective/codec/round_codec.h"
#include "weft/collective/engine/group_core.h"
#include "weft/collective/parts/swarm_types.h"
#include "weft/collective/reduce/collective.h"
#include "weft/collective/reduce/swarm_defaults.h"
#include "weft/collective/team/round_plan.h"
#include "weft/net/identity.h"
#include "weft/peer/membership.h"
#include "weft/peer/presence.h"
#include "weft/peer/ticket.h"

namespace weft {

struct SwarmOptions {
  // The swarm fills in self, incarnation, endpoints, recipe_text and founded_at, from what stands
  // below and the time. A joiner's run is its ticket's. Where one of them is set to something else,
  // or a setting of these options would not count, found() and join() fail with kInvalidArgument.
  MembershipOptions membership;
  PeerIdentity identity = PeerIdentity::generate();
  // "HOST:PORT"; host *: all addresses; port 0: the system chooses.
  std::string listen = "*:0";
  // Told to others before the addresses found from `listen`: "host:port" each.
  std::vector<std::string> advertise;
  // Ask this network's router to open the port, by UPnP or NAT-PMP.
  bool map_port = false;
  // "tls", or "tcp" (no encryption, ids are believed: trusted hosts only).
  std::string transport = "tls";
  // Given to joiners; its hash is membership.recipe_hash.
  std::string recipe_text;
  // Maximum elements of a round; a peer that requests more is refused.
  std::int64_t vector_elements_max = swarm_defaults::kVectorElementsMax;
  std::size_t segment_bytes = swarm_defaults::kSegmentBytes;
  // The unit that is split over the members; smaller starts earlier, larger has fewer frames.
  std::size_t bucket_bytes = swarm_defaults::kBucketBytes;
  // At most this total is exchanged directly instead of round the ring.
  std::size_t direct_bytes_max = swarm_defaults::kDirectBytesMax;
  // How the vector travels. With less than f32 each member keeps what its roundings drop and adds
  // it in the next round.
  WirePrecision wire = WirePrecision::kF32;
  // The rule that replaces the sum, against a number of liars; the rounds of a view that is too
  // small for it wait for more members. With `mean` the vector is summed.
  Aggregator aggregator;
  int liars = 0;
  // How many members repeat what each owner makes with such a rule, before it counts; 0: owners are
  // trusted. See collective/verify/verified_butterfly.h.
  int verifiers = 0;
  // In tests: makes the cores of rounds. Empty: make_collective().
  CollectiveMaker make_core;
  // Each member reports on its part of each round, in bytes beside the vector: report().
  bool reports = false;
  // Where it is not exact: members gather their encoded inputs instead of sending sums, and `wire`
  // does not matter. The same at all members.
  Codec codec;
  // The residual of this member's codec at the checkpoint that the trainer has loaded.
  ResidualState residual;
  // The members agree on a better order of the ring where their links are unequal; link_rates.h.
  bool measured_ring = swarm_defaults::kMeasuredRing;
  // In a view of more members each keeps connections to a few others only, and control frames
  // between the rest are forwarded (net/parking_transport.h). The same at all members.
  int mesh_members = swarm_defaults::kMeshMembers;
  // Members of one host sum among themselves before one of them exchanges with the other hosts.
  bool by_host = swarm_defaults::kByHost;
  // Results of past rounds kept for members that catch up; the last two are always kept.
  std::uint64_t result_log_bytes_max = swarm_defaults::kResultLogBytesMax;
  Round last_round;
  // A member that owes data of an open round and sends no byte for this long is suspected.
  Duration stall_timeout = swarm_defaults::kStallTimeout;
  // next() gives kWait after this.
  Duration next_limit = std::chrono::milliseconds(200);
  // How long the others wait for a member that still computes its part of a round; then they
  // suspect it, and go on without it. Zero: 10 times the median round, at least a minute; and
  // `compute_timeout_first` until three rounds of that length were measured.
  Duration compute_timeout{};
  Duration compute_timeout_first = swarm_defaults::kComputeTimeoutFirst;
  // Above zero: finish() gives kTimeout after this, with the members whose part is missing. Else it
  // waits for the end of the round, which has limits of its own: see compute_timeout, stall_timeout
  // and the membership.
  Duration finish_limit{};
  // Where resuming: the state given to the trainer is already after this round.
  Round resume_round;
  // For a founder that resumes: it waits for `start_members`, and the newest state that any of them
  // holds is where the run goes on.
  bool gather_states = false;
  // For a joiner whose trainer holds a state already, as from a checkpoint: the round of that
  // state.
  Round held_round;
  // The run that this state, or the one that a founder resumes from, is of; zeros: not known.
  RunId held_run{};
  // Where the membership's record is kept (record_file.h); empty: nowhere. What an earlier process
  // left there is membership.past.
  std::string record_file;
  // Where a joiner keeps what it has of a state until it is whole, so that it need not begin anew
  // if it is started again. Empty: nowhere.
  std::string state_file;
  // The first round waits for this many members, at most `start_timeout`.
  int start_members = swarm_defaults::kStartMembers;
  Duration start_timeout = swarm_defaults::kStartTimeout;
  // Once all have the last round, the final state is served to newcomers for at most this long;
  // next() gives kFinished as soon as none is left.
  Duration linger = swarm_defaults::kLinger;
  // Where branches merge: what a round adds to the samples that a state has learned from.
  std::uint64_t samples_a_round = 1;
  // A lost quorum ends next() with kUnavailable; false: it gives kWait until enough are back.
  bool exit_on_quorum_lost = false;
  // How others find this peer, and it them when it is alone. The swarm fills in `run`, as above.
  PresenceOptions presence;
};

// Sets `wire` where the codec can stand per hop, else `codec`.
void set_codec(const Codec& codec, SwarmOptions& options);

// Why no member gave the recipe, where the reason concerns the run.
struct RunNews {
  // The run ended with this round.
  std::optional<Round> ended_with;
  // No process listens at any address of the ticket; `left`: one did until just now.
  bool deserted = false;
  bool left = false;
};

class Swarm {
 public:
  // Begins a run as a view of one member.
  static Result<std::unique_ptr<Swarm>> found(SwarmOptions options);
  // Asks in; next() gives kWait until the state is here. The recipe was fetched before.
  static Result<std::unique_ptr<Swarm>> join(SwarmOptions options, const Ticket& ticket);
  // The recipe text from any member, checked against the ticket's hash. Uses a link of its own.
  // `news`, if given, is set where it fails.
  static Result<std::string> fetch_recipe(const Ticket& ticket, const PeerIdentity& identity,
                                          Duration limit, RunNews* news = nullptr);
  // The same; where all members have died and one has founded the run anew, `ticket` becomes one of
  // that run, and the text is its recipe.
  static Result<std::string> follow_recipe(Ticket& ticket, const PeerIdentity& identity,
                                           Duration limit, RunNews* news = nullptr);
  class Impl;
  // For found() and join().
  explicit Swarm(std::unique_ptr<Impl> impl);
  // Ends at once and sends nothing: the others see the links go down.
  ~Swarm();
  Swarm(const Swarm&) = delete;
  Swarm& operator=(const Swarm&) = delete;

  Result<Turn> next();
  // What this member contributes to the round of the last kTrain turn and to later ones if its own
  // input comes too late; call it before begin(). Rounds wait for all members otherwise.
  void stand_in(StandIn stand_in);
  // Opens the round of the last kTrain turn: a number of elements, or several exchanges, of at most
  // vector_elements_max elements together. The plan is the same at all members.
  Status begin(const RoundPlan& plan);
  // Elements [offset, offset + size) of this member's input of an exchange are ready. Borrows
  // `values` until finish() returns. REQUIRES: this member is in the exchange's team, which
  // Team::derive() gives for the turn's view.
  void contribute(std::size_t exchange, std::int64_t offset, std::span<const float> values);
  // For rounds of one exchange.
  void contribute(std::int64_t offset, std::span<const float> values) {
    contribute(0, offset, values);
  }
  // Waits, at most `limit`, until every member of the exchange's team has contributed all of it in
  // the begun round, which goes on, and copies the sums: true where they are here. They are for
  // what this member computes next in this round, as statistics of all batches, and no part of a
  // state: if the round is run again, for fewer members, its result has others. Fails: kAborted
  // where the round has ended, which finish() explains; kInvalidArgument for another size.
  Result<bool> early_sums(std::size_t exchange, std::span<float> sums, Duration limit);
  // This member's report on its part of the begun round, at most kReportBytesMax bytes. Where
  // rounds have reports, each needs one of every member, once, and does not end before; elsewhere
  // this must not be called.
  Status report(Bytes report);
  // Waits for the end of the begun round, at most `limit`: true where finish() answers at once.
  bool round_ended(Duration limit);
  // Waits for the round to commit, with all of its exchanges. The sums, of one exchange after the
  // other, stay valid until the next call to next(); RoundPlan::result() finds those of one.
  Result<std::span<const float>> finish();
  // The reports of the members in the round whose sums finish() has returned, by rank, in the same
  // bytes at all members. Their contents are unchecked claims. Valid as long as the sums.
  std::span<const Bytes> reports() const;
  // The state after `round` is in place; compared with the other members'.
  void applied(Round round, const StateHash& hash);
  void publish_state(Round round, Bytes state);
  // After a kTrain turn: until finish() or next() is called, or this with nothing, `read` may be
  // called on another thread, once, for a newcomer that would have to wait for the end of the round
  // otherwise. Each of them waits for it where it is at work. Meanwhile the state may not change.
  void lend_state(StateReader read);
  // Tells the others, waits until they have agreed on a view without this peer, at most `limit`.
  Status leave(Duration limit);

  // A ticket for others to paste; it names this member and a few more. As status(): kTimeout where
  // the network thread gives no answer within 2 s.
  Result<Ticket> ticket(Duration valid_for);
  // A code (net/join_code.h) by which peers of the local network get `ticket`, which is of this
  // swarm, from this peer while it is a member; void with the ticket. Any thread; takes about 0.1
  // s. kUnavailable where the run is hidden on the local network, or this peer cannot be asked
  // there.
  Result<std::string> join_code(const Ticket& ticket);
  // Makes a ticket void at all members. Any thread, as expel().
  Status revoke(const InvitationId& invitation);
  // Votes to expel `peer`: it is expelled once more than half of the other members have voted.
  // Returns a text about the votes so far.
  Result<std::string> expel(const PeerId& peer, const std::string& reason);
  Result<SwarmStatus> status();
  // The residual of this member's codec, for a checkpoint. Fails as status().
  Result<ResidualState> residual_state();
  std::vector<SwarmEvent> take_events();
  const PeerId& self() const;
  // Begins a collective beside the rounds; `ended` is called on the loop thread, once. What the
  // call borrows must live until then. Any thread; swarm_engine.h is the convenient form.
  using GroupEnd = std::function<void(const GroupOutcome&)>;
  void begin_group(const ViewId& view, GroupCall call, GroupEnd ended);

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
