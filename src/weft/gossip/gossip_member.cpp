#include "weft/gossip/gossip_member.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "weft/base/thread.h"

namespace weft {
namespace {

constexpr Duration kLastWords = std::chrono::milliseconds(500);
// For neighbours that finish the last round later: a link that ends may lose what they wait for.
constexpr Duration kPartingMax = std::chrono::seconds(5);
// finish() waits so much longer than the deadline, in case the loop thread is starved.
constexpr Duration kStarved = std::chrono::seconds(60);

}  // namespace

class GossipMember::Impl final : public LooseMember {
 public:
  explicit Impl(GossipMemberOptions options)
      : LooseMember(std::move(options.member)), gossip_(std::move(options.gossip)) {}
  ~Impl() override {
    static_cast<void>(leave(kLastWords));
    end_loop();
  }

  Status start(bool newcomer);

  // --- The caller's thread.
  Result<GossipTurn> wait_turn(Duration limit);
  Status begin(std::span<const float> parameters);
  Result<GossipMix> finish(std::span<float> mixed);
  void publish(std::span<const float> parameters);
  Status leave(Duration limit);

  // --- Any thread.
  Result<GossipStatus> status();

 private:
  struct Box {
    GossipPhase phase = GossipPhase::kGathering;
    Round round;
    std::vector<float> fetched;
    std::optional<GossipMix> mix;
    std::vector<float> mixed;
    Status fatal;
    bool parted = true;
  };

  // --- The loop thread.
  void take(const GossipAction& action) WEFT_REQUIRES(loop_.thread());
  void hand_over() WEFT_REQUIRES(loop_.thread());
  void on_admitted(const PeerId& peer) override {
    loop_.thread().assert_here();
    core_->link_up(peer, loop_.now());
  }
  void on_gone(const PeerId& peer, const Status& /*why*/, bool was_linked) override {
    loop_.thread().assert_here();
    if (was_linked || dialled_.contains(peer)) core_->link_down(peer, loop_.now());
    dialled_.erase(peer);
  }
  void on_member_frame(const PeerId& from, const FrameView& frame) override {
    loop_.thread().assert_here();
    core_->receive(from, frame.type, frame.head,
                   SharedBytes(Bytes(frame.body.begin(), frame.body.end())), loop_.now());
  }
  void on_tick(TimePoint now) override {
    loop_.thread().assert_here();
    core_->tick(now);
  }
  std::optional<TimePoint> core_deadline() const override {
    loop_.thread().assert_here();
    return core_->next_deadline();
  }
  bool settle_core() override;
  bool seeks_sponsors() const override {
    loop_.thread().assert_here();
    return core_->members() <= 1;
  }
  void fail(const Status& why) override {
    box_.with([&](Box& box) { box.fatal = why; });
  }
  std::vector<PeerAddress> others() const override;
  bool is_over() const override {
    loop_.thread().assert_here();
    return core_->phase() == GossipPhase::kOver;
  }
  std::size_t members_known() const override {
    loop_.thread().assert_here();
    return core_->members();
  }

  GossipOptions gossip_;
  Guarded<Box> box_;
  bool left_ = false;  // the caller's
  std::unique_ptr<GossipCore> core_ WEFT_GUARDED_BY(loop_.thread());
  // Dials of the core: it handles their failures, but not links of strangers.
  std::set<PeerId> dialled_ WEFT_GUARDED_BY(loop_.thread());
};

Status GossipMember::Impl::start(bool newcomer) {
  loop_.thread().assert_here();
  WEFT_TRY(open());
  gossip_.endpoints = gate_->options().endpoints;
  gossip_.incarnation = gate_->options().incarnation;
  gossip_.run = gate_->options().run;
  gossip_.newcomer = newcomer;
  core_ = std::make_unique<GossipCore>(gossip_, loop_.now());
  begin_loop();
  return {};
}

// --- The caller's thread.

Result<GossipTurn> GossipMember::Impl::wait_turn(Duration limit) {
  box_.wait_until(clock_.now() + limit, [](const Box& box) {
    return !box.fatal.ok() || box.phase == GossipPhase::kIdle || box.phase == GossipPhase::kOver;
  });
  return box_.with([](Box& box) -> Result<GossipTurn> {
    if (!box.fatal.ok()) return box.fatal;
    return GossipTurn{box.phase, box.round, std::exchange(box.fetched, {})};
  });
}

Status GossipMember::Impl::begin(std::span<const float> parameters) {
  const auto sent =
      std::make_shared<const std::vector<float>>(parameters.begin(), parameters.end());
  const ByteSpan view = as_bytes(std::span<const float>(*sent));
  if (!all_finite(view)) {
    return invalid_argument(
        "gossip: a parameter is not finite; take a lower learning rate, or clip gradients");
  }
  box_.with([](Box& box) {
    box.phase = GossipPhase::kOpen;
    box.mix.reset();
  });
  const SharedBytes bytes(sent, view);
  submit([this, bytes]() WEFT_REQUIRES(loop_.thread()) {
    const Status begun = core_->phase() == GossipPhase::kIdle
                             ? core_->begin(bytes, loop_.now())
                             : unavailable("gossip: this peer has left the run");
    if (!begun.ok()) box_.with([&](Box& box) { box.fatal = begun; });
  });
  return {};
}

Result<GossipMix> GossipMember::Impl::finish(std::span<float> mixed) {
  submit([this]() WEFT_REQUIRES(loop_.thread()) {
    if (core_->phase() == GossipPhase::kOpen) core_->await(loop_.now());
  });
  const Duration limit = gossip_.deadline + kStarved;
  const bool ended = box_.wait_until(
      clock_.now() + limit, [](const Box& box) { return box.mix.has_value() || !box.fatal.ok(); });
  if (!ended) return timed_out("the network thread gives no answer");
  return box_.with([&](Box& box) -> Result<GossipMix> {
    if (!box.fatal.ok()) return box.fatal;
    std::copy(box.mixed.begin(), box.mixed.end(), mixed.begin());
    return *std::exchange(box.mix, std::nullopt);
  });
}

void GossipMember::Impl::publish(std::span<const float> parameters) {
  const auto kept =
      std::make_shared<const std::vector<float>>(parameters.begin(), parameters.end());
  const SharedBytes bytes(kept, as_bytes(std::span<const float>(*kept)));
  submit([this, bytes]() WEFT_REQUIRES(loop_.thread()) { core_->publish(bytes); });
}

Status GossipMember::Impl::leave(Duration limit) {
  if (std::exchange(left_, true)) return {};
  const Duration parting = std::min<Duration>(gossip_.deadline, kPartingMax);
  box_.wait_until(clock_.now() + parting,
                  [](const Box& box) { return box.parted || !box.fatal.ok(); });
  submit([this]() WEFT_REQUIRES(loop_.thread()) { core_->leave(loop_.now()); });
  return close_links(limit);
}

Result<GossipStatus> GossipMember::Impl::status() {
  return ask<GossipStatus>([this]() WEFT_REQUIRES(loop_.thread()) -> Result<GossipStatus> {
    GossipStatus status;
    status.phase = core_->phase();
    status.round = core_->round();
    status.members = core_->members_undoubted();
    status.counts = core_->counts();
    const TransportStats total = transport_->total_stats();
    status.bytes_sent = total.bytes_sent;
    status.bytes_received = total.bytes_received;
    for (const PeerId& peer : core_->book().live(core_->round())) {
      if (peer == self()) continue;
      const TransportStats of_peer = transport_->stats(peer);
      status.others.push_back({peer, linked_.contains(peer), core_->neighbours().contains(peer),
                               of_peer.rtt_seconds, of_peer.bytes_sent, of_peer.bytes_received});
    }
    return status;
  });
}

// --- The loop thread.

bool GossipMember::Impl::settle_core() {
  loop_.thread().assert_here();
  const std::vector<GossipAction> actions = core_->take_actions();
  for (const GossipAction& action : actions) take(action);
  if (actions.empty()) hand_over();
  return !actions.empty();
}

std::vector<PeerAddress> GossipMember::Impl::others() const {
  loop_.thread().assert_here();
  std::vector<PeerAddress> others;
  for (const PeerId& peer : core_->book().live(core_->round())) {
    if (peer != self()) others.push_back(core_->book().address(peer));
  }
  return others;
}

void GossipMember::Impl::take(const GossipAction& action) {
  if (const auto* const frame = std::get_if<GossipSend>(&action)) {
    send(*frame);
  } else if (const auto* const dial = std::get_if<GossipDial>(&action)) {
    dialled_.insert(dial->peer.id);
    transport_->connect(dial->peer);
  } else {
    close(std::get<GossipClose>(action));
  }
}

void GossipMember::Impl::hand_over() {
  std::vector<float> fetched;
  if (const auto vector = core_->take_fetched()) {
    fetched.resize(vector->head().elements);
    vector->copy_to(fetched);
  }
  std::optional<GossipMix> mix;
  std::vector<float> mixed;
  if (core_->phase() == GossipPhase::kOpen && core_->awaited() && core_->ready()) {
    mixed.resize(gossip_.elements);
    mix = core_->finish(mixed, loop_.now());
  }
  // Between begin() and its mix it is the caller's turn.
  const GossipPhase phase = core_->phase();
  const Round round = core_->round();
  const bool parted = core_->parted();
  if (phase == GossipPhase::kOpen) return;
  box_.with([&](Box& box) {
    if (!fetched.empty()) box.fetched = std::move(fetched);
    if (mix) {
      box.mix = mix;
      box.mixed = std::move(mixed);
    }
    box.phase = phase;
    box.round = round;
    box.parted = parted;
  });
  // A mix may have brought actions of its own.
  for (const GossipAction& action : core_->take_actions()) take(action);
}

// --- GossipMember.

GossipMember::GossipMember(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
GossipMember::~GossipMember() = default;

Result<std::unique_ptr<GossipMember>> GossipMember::start(GossipMemberOptions options) {
  options.gossip.signer = signer_of(options.member.identity);
  const bool newcomer = options.member.ticket.has_value();
  auto impl = std::make_unique<Impl>(std::move(options));
  WEFT_TRY(impl->start(newcomer));
  return std::unique_ptr<GossipMember>(new GossipMember(std::move(impl)));
}

const PeerId& GossipMember::self() const { return impl_->self(); }
Result<GossipTurn> GossipMember::wait_turn(Duration limit) { return impl_->wait_turn(limit); }
Status GossipMember::begin(std::span<const float> parameters) { return impl_->begin(parameters); }
Result<GossipMix> GossipMember::finish(std::span<float> mixed) { return impl_->finish(mixed); }
void GossipMember::publish(std::span<const float> parameters) { impl_->publish(parameters); }
Status GossipMember::leave(Duration limit) { return impl_->leave(limit); }
Result<Ticket> GossipMember::ticket(Duration valid_for) { return impl_->ticket(valid_for); }
Result<std::string> GossipMember::join_code(const Ticket& ticket) {
  return impl_->join_code(ticket);
}
Result<GossipStatus> GossipMember::status() { return impl_->status(); }

}  // namespace weft
