// LooseMember: what members of runs without agreement have in common over sockets: one loop thread,
// a transport, the gate, its presence, and the dials to those who let a newcomer in.
//
// A founder makes the run's key; its members admit a peer with a ticket (MemberGate). Links are
// TLS, both ends know each other's key. What a peer does wrong ends its link and is in the log.
//
// A kind of exchange is a subclass: it has its core behind the loop thread and a box between that
// and the caller. Its destructor calls end_loop() first, since the loop calls its functions.
// Where it stands: GossipMember and MixMember are its kinds. Threads: open(), begin_loop(),
// end_loop() and close_links() on the caller's; ticket(), join_code() and ask() on any; the virtual
// functions on the loop's. Fails: as each says; waits have limits.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "weft/base/status.h"
#include "weft/base/thread.h"
#include "weft/base/time.h"
#include "weft/gossip/gossip_presence.h"
#include "weft/gossip/member_gate.h"
#include "weft/net/event_loop.h"
#include "weft/net/identity.h"
#include "weft/net/transport.h"
#include "weft/peer/admission.h"
#include "weft/peer/presence.h"
#include "weft/peer/ticket.h"

namespace weft {

struct LooseMemberOptions {
  PeerIdentity identity = PeerIdentity::generate();
  std::string listen = "*:0";
  std::vector<std::string> advertise{};
  bool map_port = false;
  RunId run{};
  std::string recipe_text{};
  Hash256 recipe_hash{};
  Hash256 layout_hash{};
  InviteMode invite = InviteMode::kTicket;
  std::set<PeerId> allowed{};
  // Its `run` is the one above.
  PresenceOptions presence{};
  // Empty: this peer founds the run.
  std::optional<Ticket> ticket{};
  // A newcomer without a link to any member for this long stops trying.
  Duration join_timeout = std::chrono::seconds(60);
};

class LooseMember : private TransportHandler {
 public:
  explicit LooseMember(LooseMemberOptions options) : loose_(std::move(options)) {}
  LooseMember(const LooseMember&) = delete;
  LooseMember& operator=(const LooseMember&) = delete;
  ~LooseMember() override = default;

  const PeerId& self() const { return loose_.identity.id(); }
  Result<Ticket> ticket(Duration valid_for);
  Result<std::string> join_code(const Ticket& ticket);

 protected:
  // --- The caller's thread.
  // Listens, with the gate and the presence; the loop does not run yet. kInvalidArgument or
  // kUnavailable if it cannot listen as asked.
  Status open();
  void begin_loop();
  void end_loop();
  // Runs `work` on the loop thread, and then what follows from it.
  void submit(std::function<void()> work);
  template <class Answer>
  Result<Answer> ask(std::function<Result<Answer>()> question);
  // Ends all links, at most within `limit`; no event comes any more. kTimeout where some are left.
  Status close_links(Duration limit);

  // --- What a kind of exchange adds, on the loop thread.
  // The link is admitted: both ends have proved that they may take part.
  virtual void on_admitted(const PeerId& peer) = 0;
  // A link has ended, or a dial failed. `was_linked`: it was admitted.
  virtual void on_gone(const PeerId& peer, const Status& why, bool was_linked) = 0;
  virtual void on_member_frame(const PeerId& from, const FrameView& frame) = 0;
  virtual void on_room(const PeerId& /*peer*/) {}
  virtual void on_tick(TimePoint now) = 0;
  virtual std::optional<TimePoint> core_deadline() const = 0;
  // Does what the core asks for, and hands over to the caller what there is for it. True: there may
  // be more.
  virtual bool settle_core() = 0;
  // Whether this newcomer still needs those of its ticket.
  virtual bool seeks_sponsors() const = 0;
  // The run cannot go on for this peer.
  virtual void fail(const Status& why) = 0;
  // The others, as far as they are known.
  virtual std::vector<PeerAddress> others() const = 0;
  virtual bool is_over() const = 0;
  virtual std::size_t members_known() const = 0;

  // --- The loop thread.
  void settle() WEFT_REQUIRES(loop_.thread());
  void send(const GossipSend& send) WEFT_REQUIRES(loop_.thread());
  void close(const GossipClose& close) WEFT_REQUIRES(loop_.thread());
  const std::vector<std::string>& endpoints() const WEFT_REQUIRES(loop_.thread()) {
    return gate_->options().endpoints;
  }

  const SystemClock clock_;
  EventLoop loop_;
  std::unique_ptr<Transport> transport_ WEFT_GUARDED_BY(loop_.thread());
  std::unique_ptr<MemberGate> gate_ WEFT_GUARDED_BY(loop_.thread());
  // Admitted.
  std::set<PeerId> linked_ WEFT_GUARDED_BY(loop_.thread());
  bool ending_ WEFT_GUARDED_BY(loop_.thread()) = false;

 private:
  GossipFacts facts() const WEFT_REQUIRES(loop_.thread());
  void take_gate(const GateAction& action) WEFT_REQUIRES(loop_.thread());
  void arm_timer() WEFT_REQUIRES(loop_.thread());
  void on_timer() WEFT_REQUIRES(loop_.thread());
  void dial_sponsors() WEFT_REQUIRES(loop_.thread());
  void on_link_up(const LinkInfo& link) override;
  void on_link_down(const PeerId& peer, const Status& why) override;
  void on_frame(const PeerId& from, Lane lane, const FrameView& frame) override;
  void on_writable(const PeerId& peer, Lane lane) override;

  const LooseMemberOptions loose_;
  Guarded<bool> closed_{false};
  std::unique_ptr<RunPresence> presence_ WEFT_GUARDED_BY(loop_.thread());
  std::optional<TimePoint> redial_at_ WEFT_GUARDED_BY(loop_.thread());
  TimePoint give_up_at_ WEFT_GUARDED_BY(loop_.thread());
  TimePoint timer_at_ WEFT_GUARDED_BY(loop_.thread()) = TimePoint::max();
  TimerId timer_ WEFT_GUARDED_BY(loop_.thread());
  Thread thread_;
};

// The loop thread answers within this.
inline constexpr Duration kLoopAnswerWait = std::chrono::seconds(2);

template <class Answer>
Result<Answer> LooseMember::ask(std::function<Result<Answer>()> question) {
  using Slot = Guarded<std::optional<Result<Answer>>>;
  const auto answer = std::make_shared<Slot>();
  submit([answer, question = std::move(question)] {
    Result<Answer> given = question();
    answer->with([&](auto& slot) { slot = std::move(given); });
  });
  const bool given = answer->wait_until(clock_.now() + kLoopAnswerWait,
                                        [](const auto& slot) { return slot.has_value(); });
  if (!given) return timed_out("the network thread gives no answer");
  return answer->with([](auto& slot) { return *slot; });
}

}  // namespace weft
