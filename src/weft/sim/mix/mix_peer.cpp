#include "weft/sim/mix/mix_peer.h"

namespace weft::sim {

class MixPeer::Events final : public TransportHandler {
 public:
  explicit Events(MixPeer& peer) : peer_(peer) {}

  void on_link_up(const LinkInfo& link) override {
    peer_.own_transport().set_trust(link.peer, LinkTrust::kProved);
    if (peer_.node_) peer_.node_->link_up(link.peer, now());
  }
  void on_link_down(const PeerId& peer, const Status& why) override {
    peer_.stirred_ = true;
    if (peer_.node_) peer_.node_->link_down(peer, why, now());
  }
  void on_frame(const PeerId& from, Lane /*lane*/, const FrameView& frame) override {
    peer_.stirred_ = true;
    if (!peer_.node_) return;
    const Status taken = peer_.node_->receive(from, frame, now());
    if (!taken.ok()) peer_.own_transport().close(from, taken);
  }
  void on_writable(const PeerId& peer, Lane lane) override {
    if (peer_.node_ && lane == Lane::kBulk) peer_.node_->writable(peer);
  }
  void on_refused(const std::string& /*endpoint*/, const Status& /*why*/) override {}

 private:
  TimePoint now() const { return peer_.network().now(); }

  MixPeer& peer_;
};

MixPeer::MixPeer(SimNetwork& network, MixPeerSettings settings, MixTrainedLearner& learner)
    : VirtualPeer(network, settings.node.members[settings.node.core.self].id),
      settings_(std::move(settings)),
      learner_(learner),
      events_(std::make_unique<Events>(*this)),
      steps_(settings_.steps) {
  if (!settings_.liar) return;
  settings_.node.forge = [this](const MixVector& values) {
    return std::make_shared<const std::vector<float>>(settings_.liar->forge(*values));
  };
}

MixPeer::~MixPeer() = default;

TransportHandler& MixPeer::handler() { return *events_; }

void MixPeer::start() {
  MixNodeOptions options = settings_.node;
  for (PeerAddress& member : options.members) member.endpoints = {network().endpoint(member.id)};
  MixVector first = settings_.kept;
  if (!first) first = learner_.first_model(options.core.self);
  node_ = std::make_unique<MixNode>(std::move(options), own_transport(), first, network().now());
  for (const std::uint32_t member : settings_.greeted) node_->keep_link(member, network().now());
  stirred_ = true;
  wake();
}

void MixPeer::fail(Status why) {
  failure_ = std::move(why);
  crash(SimCrash::kKilled);
}

void MixPeer::settle() {
  if (!node_) return;
  node_->act(network().now());
  for (MixCombined& made : node_->take_combined()) settings_.on_combined(made);
  if (const std::optional<MixWork> next = node_->take_work()) work(*next);
  if (!alive() || settles_ || !std::exchange(stirred_, false)) return;
  settles_ = true;
  // After everything else that happens at this moment.
  after(Duration::zero(), [this] {
    settles_ = false;
    node_->settle(network().now());
  });
}

void MixPeer::work(const MixWork& work) {
  auto model = std::make_shared<std::vector<float>>(*work.model);
  const std::uint32_t steps = has_data_ ? work.steps : 0;
  MixLocalWork local = {settings_.node.core.self, steps_, steps, work.version};
  if (work.beside) local.beside = *work.beside;
  const MixLocal& method = settings_.node.core.method->local;
  const Result<MixLoss> loss = method.run(local, learner_, *model);
  if (!loss.ok()) return fail(loss.status());
  steps_ += steps;
  const Duration taken = from_seconds(loss->samples / settings_.samples_per_second);
  after(taken, [this, id = work.id, model, loss = *loss] {
    stirred_ = true;
    node_->worked(id, model, loss, network().now());
  });
}

}  // namespace weft::sim
