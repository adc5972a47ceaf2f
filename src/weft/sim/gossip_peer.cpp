#include "weft/sim/gossip_peer.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "weft/base/hash.h"
#include "weft/sim/machine/value_bytes.h"

namespace weft::sim {
namespace {

RecordSignature repeated_signature(const PublicKey& key, ByteSpan message) {
  RecordSignature signature{};
  const Hash256 mac = hmac_sha256(key, message);
  std::ranges::copy(mac, signature.begin());
  return signature;
}

}  // namespace

RecordSigner repeated_signer(const PublicKey& key) {
  return {key, [key](ByteSpan message) { return repeated_signature(key, message); }};
}

class GossipPeer::Events final : public TransportHandler {
 public:
  explicit Events(GossipPeer& peer) : peer_(peer) {}

  void on_link_up(const LinkInfo& link) override {
    peer_.own_transport().set_trust(link.peer, LinkTrust::kProved);
    peer_.core_->link_up(link.peer, peer_.network().now());
  }
  void on_link_down(const PeerId& other, const Status& /*why*/) override {
    peer_.core_->link_down(other, peer_.network().now());
  }
  void on_frame(const PeerId& from, Lane /*lane*/, const FrameView& frame) override {
    peer_.core_->receive(from, frame.type, frame.head,
                         SharedBytes(Bytes(frame.body.begin(), frame.body.end())),
                         peer_.network().now());
  }
  void on_writable(const PeerId& /*peer*/, Lane /*lane*/) override {}
  void on_refused(const std::string& endpoint, const Status& /*why*/) override {
    const auto dialled = peer_.dials_.find(endpoint);
    if (dialled == peer_.dials_.end()) return;
    peer_.core_->link_down(dialled->second, peer_.network().now());
  }

 private:
  GossipPeer& peer_;
};

GossipPeer::GossipPeer(SimNetwork& network, GossipPeerSettings settings, GossipTrainer& trainer)
    : VirtualPeer(network, peer_id_of(settings.gossip.signer.key)),
      settings_(std::move(settings)),
      trainer_(trainer),
      events_(std::make_unique<Events>(*this)),
      state_(trainer.first_state()) {
  GossipOptions gossip = settings_.gossip;
  gossip.endpoints = transport().endpoints();
  gossip.book.check = [](const PublicKey& key, ByteSpan message, const RecordSignature& signature) {
    return repeated_signature(key, message) == signature;
  };
  core_ = std::make_unique<GossipCore>(std::move(gossip), network.now());
}

GossipPeer::~GossipPeer() = default;

TransportHandler& GossipPeer::handler() { return *events_; }

void GossipPeer::start(const std::vector<PeerAddress>& others) {
  for (const PeerAddress& other : others) dial(other);
  wake();
}

void GossipPeer::dial(const PeerAddress& peer) {
  for (const std::string& endpoint : peer.endpoints) dials_[endpoint] = peer.id;
  own_transport().connect(peer);
}

void GossipPeer::fail(Status why) {
  failure_ = std::move(why);
  crash(SimCrash::kKilled);
}

void GossipPeer::take(GossipAction& action) {
  if (auto* const send = std::get_if<GossipSend>(&action)) {
    // A link that has just ended is reported by an event of its own.
    static_cast<void>(own_transport().send(send->to, send->lane, std::move(send->frame)));
  } else if (const auto* const wanted = std::get_if<GossipDial>(&action)) {
    dial(wanted->peer);
  } else if (const auto* const end = std::get_if<GossipClose>(&action)) {
    own_transport().close(end->peer, end->why);
  }
}

void GossipPeer::settle() {
  while (alive()) {
    std::vector<GossipAction> actions = core_->take_actions();
    for (GossipAction& action : actions) take(action);
    if (auto fetched = core_->take_fetched()) {
      std::vector<float> values(state_.parameters->size());
      fetched->copy_to(values);
      state_.parameters = std::make_shared<const std::vector<float>>(std::move(values));
    }
    if (core_->phase() == GossipPhase::kIdle) {
      if (Status begun = begin_round(); !begun.ok()) return fail(std::move(begun));
    } else if (core_->phase() == GossipPhase::kOpen && !computes_ && core_->ready()) {
      finish_round();
    } else if (actions.empty()) {
      return;
    }
  }
}

SharedBytes GossipPeer::to_send() {
  if (!settings_.liar) return bytes_of(state_.parameters);
  return bytes_of(
      std::make_shared<const std::vector<float>>(settings_.liar->forge(*state_.parameters)));
}

Status GossipPeer::begin_round() {
  WEFT_TRY(core_->begin(to_send(), network().now()));
  WEFT_TRY_ASSIGN(report_, trainer_.compute(state_, id(), core_->round()));
  computes_ = true;
  after(from_seconds(report_.samples / settings_.samples_per_second), [this] {
    computes_ = false;
    core_->await(network().now());
  });
  return {};
}

void GossipPeer::finish_round() {
  const Round round = core_->round();
  std::vector<float> mixed(state_.parameters->size());
  const GossipMix mix = core_->finish(mixed, network().now());
  trainer_.update(state_, round, mixed);
  if (core_->phase() == GossipPhase::kOver) core_->publish(bytes_of(state_.parameters));
  done_ = round;
  settings_.on_round(mix, report_);
}

}  // namespace weft::sim
