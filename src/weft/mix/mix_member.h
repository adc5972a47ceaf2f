// MixMember: a MixNode over sockets: one loop thread, and a box between it and the caller.
//
// Numbers. The founder has number 0. It lets in as many peers as the run has members, numbers them
// by their ids and sends all of them the roster; no agreement is needed, since one peer decides
// once. From then on nobody comes in any more: a member that is lost stays lost, and a peer that
// comes late is refused with the reason. Where too few come in time, the founder gives up.
//
//   caller                 member
//   wait_turn()      ->    kGathering, then kNumbered with this member's number
//   begin(first)     ->    the core begins from this model
//   wait_turn()      ->    work, as often as there is some; the loop thread answers meanwhile
//   worked(...)      ->    the result goes to who combines it
//   wait_turn()      ->    kOver with the last model
//
// What is not its own is LooseMember's. Where it stands: train's MixExchange drives it. Threads:
// wait_turn(), begin(), worked() and leave() on one thread, the caller's; the rest on any.
// Fails: as each says; waits have limits.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/base/status.h"
#include "weft/base/time.h"
#include "weft/codec/codec.h"
#include "weft/gossip/loose_member.h"
#include "weft/mix/mix_core.h"
#include "weft/mix/mix_node.h"

namespace weft {

struct MixMemberOptions {
  LooseMemberOptions member{};
  // `self` and `method` are set by this.
  MixCoreOptions core{};
  std::shared_ptr<const MixMethod> method{};
  std::optional<Codec> codec{};
  // The founder gives up where no further member comes for this long.
  Duration start_timeout = std::chrono::minutes(10);
  // How long a member whose link is gone is dialled before it counts as lost.
  Duration patience = std::chrono::seconds(10);
};

enum class MixPhase : std::uint8_t {
  kGathering,
  kNumbered,  // begin() is to be called
  kRunning,
  kOver,
};

struct MixTurn {
  MixPhase phase = MixPhase::kGathering;
  std::uint32_t self = 0;
  // Once each.
  std::optional<MixWork> work{};
  // kOver.
  MixVector result{};
};

// What a combination may ask of the model; the member's loop thread asks while the caller's trains.
struct MixTools {
  std::shared_ptr<MixProbe> probe{};
  std::shared_ptr<MixJudge> judge{};
};

struct MixPeerStatus {
  std::uint32_t number = 0;
  PeerId id;
  bool linked = false;
  double rtt_seconds = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
};

struct MixStatus {
  MixPhase phase = MixPhase::kGathering;
  std::uint32_t self = 0;
  std::uint64_t version = 0;
  // That have come and have not been lost, this one included.
  std::size_t members = 1;
  // The contributions of the newest combination that was made here.
  std::uint32_t contributions = 0;
  std::vector<MixPeerStatus> others{};
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
};

struct MixNews {
  // All members by number, once the run begins.
  std::vector<PeerId> roster{};
  std::vector<MixLost> lost{};
};

class MixMember {
 public:
  // kInvalidArgument or kUnavailable if it cannot listen as asked.
  static Result<std::unique_ptr<MixMember>> start(MixMemberOptions options);
  // Leaves, if leave() was not called.
  ~MixMember();
  MixMember(const MixMember&) = delete;
  MixMember& operator=(const MixMember&) = delete;

  const PeerId& self() const;
  // Waits until there is something to do, at most `limit`. Fails: kTimeout where too few members
  // came, kUnavailable where nobody can go on without one that is lost, kInvalidArgument where this
  // peer is refused for good.
  Result<MixTurn> wait_turn(Duration limit);
  // REQUIRES: kNumbered; `tools` has what the method's combination needs.
  void begin(MixVector first, MixTools tools = {});
  void worked(std::uint64_t id, MixVector model, const MixLoss& loss);
  // Announces to the others that this member leaves, and ends the links; after the end of the run
  // once nobody waits for its letters, at most for a minute.
  Status leave(Duration limit);

  // kUnavailable for others than the founder.
  Result<Ticket> ticket(Duration valid_for);
  // A code by which peers of this network get that ticket from this member.
  Result<std::string> join_code(const Ticket& ticket);
  Result<MixStatus> status();
  // Since it was last asked.
  MixNews take_news();

 private:
  class Impl;
  explicit MixMember(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
