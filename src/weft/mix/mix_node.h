// MixNode: one member of a method of loose exchange on a network: its MixCore, its mail, and which
// of the others are still there.
//
// What the core sends goes out as letters (MixMail), deltas to a server by the codec with error
// feedback. A member is dialled when there is a letter for it; where a link ends, it is dialled
// again for `patience`, and then counts as lost, at once where nobody listens at its addresses any
// more or it has said that it leaves. A lost member stays lost (but for lost_may_return).
//
// The end. Who makes the last version of a common model (kServer, kSampled) gives it to all; then,
// and where each member's own versions are over, result() is there. A member is wanted until
// is_parted(): others may wait for its letters.
//
// Where it stands: sim/mix/mix_peer.h has one for each virtual machine, MixMember one behind its
// sockets. Threads: one owner; it borrows a Transport and has no thread and no clock.
// Fails: failure() says why this member cannot go on; receive() with kCorrupt for what no honest
// member sends, after which the link is to be ended.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "weft/base/status.h"
#include "weft/base/time.h"
#include "weft/codec/codec.h"
#include "weft/codec/error_feedback.h"
#include "weft/mix/mix_core.h"
#include "weft/mix/mix_mail.h"
#include "weft/net/transport.h"

namespace weft {

struct MixNodeOptions {
  MixCoreOptions core;
  // By number, this one included.
  std::vector<PeerAddress> members;
  // How deltas travel to a server; nothing: as they are.
  std::optional<Codec> codec;
  // What is sent in place of a result; nothing: the result. For members that lie in a simulation.
  std::function<MixVector(const MixVector& values)> forge;
  Duration patience{};
  Duration redial = std::chrono::seconds(1);
  // A lost member that links again has begun anew, and counts again; for simulations of churn.
  bool lost_may_return = false;
  // Links to all others from the beginning, so that each loss is noticed by everybody.
  bool links_to_all = false;
};

struct MixLost {
  PeerId peer;
  Status why;
};

class MixNode {
 public:
  // Borrows `transport`, which must outlive this, and dials by it.
  MixNode(MixNodeOptions options, Transport& transport, MixVector first, TimePoint now);

  // --- Events.
  void link_up(const PeerId& peer, TimePoint now);
  void link_down(const PeerId& peer, const Status& why, TimePoint now);
  void writable(const PeerId& peer) { mail_.writable(peer); }
  // Frames of others than the members are ignored.
  Status receive(const PeerId& from, const FrameView& frame, TimePoint now);
  void worked(std::uint64_t id, MixVector model, const MixLoss& loss, TimePoint now);
  // Nothing else comes at this moment, or next_deadline() is over.
  void settle(TimePoint now);
  std::optional<TimePoint> next_deadline() const;
  // A loss of this member is to be noticed.
  void keep_link(std::uint32_t member, TimePoint now) { want_link(member, now); }
  // Says to all that have a link that this member takes part no more.
  void leave();

  // --- What it wants done since it was last asked; act() first.
  void act(TimePoint now);
  std::optional<MixWork> take_work() { return core_.take_work(); }
  std::vector<MixCombined> take_combined() { return std::exchange(combined_, {}); }
  std::vector<MixLost> take_lost() { return std::exchange(lost_news_, {}); }

  const MixCore& core() const { return core_; }
  const MixNodeOptions& options() const { return options_; }
  std::uint32_t self() const { return options_.core.self; }
  bool is_member(const PeerId& peer) const { return numbers_.contains(peer); }
  // That have not been lost, this one included.
  std::size_t members_there() const { return options_.members.size() - lost_.size(); }
  // The model at the end of the run, once it is there.
  const MixVector& result() const { return result_; }
  // Nobody waits for a letter of this member.
  bool is_parted() const { return result_ != nullptr && mail_.waiting() == 0; }
  const Status& failure() const { return failure_; }

 private:
  struct Dial {
    TimePoint give_up;
    std::optional<TimePoint> again;
  };

  bool has_common_model() const;
  void post(const MixSend& send, TimePoint now);
  MixLetter letter_of(const MixSend& send);
  SharedBytes sent_bytes(const MixReturned& returned);
  MixVector forged(const MixVector& values);
  void want_link(std::uint32_t member, TimePoint now);
  void dial(std::uint32_t member) { transport_.connect(options_.members[member]); }
  void lose(std::uint32_t member, const Status& why, TimePoint now);
  Status take_frame(std::uint32_t member, const FrameView& frame, TimePoint now);
  Status take(std::uint32_t from, const MixLetter& letter, TimePoint now);
  void announce(const MixCombined& last, TimePoint now);
  bool may_end(std::uint32_t from) const;
  Status take_given(std::uint32_t from, const MixGivenMessage& given, ByteSpan bytes,
                    TimePoint now);
  Result<MixVector> returned_values(ByteSpan bytes) const;

  const MixNodeOptions options_;
  Transport& transport_;
  std::map<PeerId, std::uint32_t> numbers_;
  MixCore core_;
  MixMail mail_;
  std::optional<ErrorFeedback> feedback_;
  // The latest result and what was sent in place of it.
  std::pair<MixVector, MixVector> forged_;
  // Members without a link that are dialled.
  std::map<std::uint32_t, Dial> dials_;
  std::map<std::uint32_t, Status> lost_;
  std::vector<MixLost> lost_news_;
  std::vector<MixCombined> combined_;
  MixVector result_;
  Status failure_;
};

}  // namespace weft
