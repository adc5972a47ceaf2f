#include "weft/net/parking/parked_session.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "weft/net/identity/sealed.h"

namespace weft {

namespace {

Hash256 derived(const Hash256& secret, std::string_view label, const ParkNonce& nonce,
                const PeerId& from) {
  Bytes message(as_bytes(label).begin(), as_bytes(label).end());
  message.insert(message.end(), nonce.begin(), nonce.end());
  message.insert(message.end(), from.bytes.begin(), from.bytes.end());
  return hmac_sha256(secret, message);
}

}  // namespace

ParkedSession::ParkedSession(const PeerId& self, const PeerId& peer, const Hash256& secret,
                             const ParkNonce& nonce, const ParkedSessionOptions& options,
                             TimePoint now)
    : options_(options),
      key_out_(derived(secret, "weft parked link: key", nonce, self)),
      key_in_(derived(secret, "weft parked link: key", nonce, peer)),
      beat_at_(now + options.beat_interval) {
  const Hash256 name = derived(secret, "weft parked link: name", nonce, std::min(self, peer));
  std::copy_n(name.begin(), name_.size(), name_.begin());
}

// --- Sending.

bool ParkedSession::send(ParkedKind kind, Bytes payload, TimePoint now) {
  if (!is_sequenced(kind)) {
    loose_.push_back({kind, 0, 0, std::move(payload)});
    return true;
  }
  if (queued_bytes_ + payload.size() > options_.queue_bytes_max) return false;
  queued_bytes_ += payload.size();
  queue_.push_back({next_sequence_++, kind, std::move(payload), now, false});
  return true;
}

SealedPacket ParkedSession::seal_packet(const ParkedPacket& packet) {
  SealedPacket out;
  out.sealed = seal(key_out_, name_, packet.encode());
  out.way = way_ + repeats_;
  acknowledge_at_ = TimePoint::max();
  return out;
}

SealedPacket ParkedSession::seal_item(Item& item, TimePoint now) {
  item.sent = now;
  beat_at_ = now + options_.beat_interval;
  return seal_packet({item.kind, item.sequence, received_, item.payload});
}

Duration ParkedSession::resend_interval() const {
  const Duration known = std::max(3 * round_trip_, options_.resend_after / 2);
  const Duration first = round_trip_ == Duration() ? options_.resend_after : known;
  return first * static_cast<int>(std::min<std::size_t>(repeats_ + 1, 4));
}

std::vector<SealedPacket> ParkedSession::take_due(TimePoint now) {
  std::vector<SealedPacket> out;
  if (now >= resend_at_ && under_way_ > 0) {
    ++repeats_;
    for (std::size_t i = 0; i < under_way_; ++i) {
      queue_[i].repeated = true;
      out.push_back(seal_item(queue_[i], now));
    }
    resend_at_ = now + resend_interval();
  }
  if (queue_.empty() && now >= beat_at_) send(ParkedKind::kBeat, {}, now);
  while (under_way_ < queue_.size() && under_way_ < options_.packets_under_way_max) {
    if (under_way_ == 0) {
      waits_since_ = now;
      resend_at_ = now + resend_interval();
    }
    out.push_back(seal_item(queue_[under_way_++], now));
  }
  for (ParkedPacket& packet : std::exchange(loose_, {})) {
    packet.acknowledged = received_;
    out.push_back(seal_packet(packet));
    out.back().routed_only =
        packet.kind == ParkedKind::kProbe || packet.kind == ParkedKind::kProbeReply;
  }
  if (out.empty() && now >= acknowledge_at_) {
    out.push_back(seal_packet({ParkedKind::kAcknowledgement, 0, received_, {}}));
  }
  return out;
}

std::vector<SealedPacket> ParkedSession::take_all(TimePoint now) {
  std::vector<SealedPacket> out;
  for (Item& item : queue_) {
    item.repeated = true;
    out.push_back(seal_item(item, now));
  }
  if (under_way_ == 0 && !queue_.empty()) waits_since_ = now;
  under_way_ = queue_.size();
  resend_at_ = queue_.empty() ? TimePoint::max() : now + resend_interval();
  return out;
}

TimePoint ParkedSession::deadline() const {
  if (!loose_.empty()) return TimePoint::min();
  if (under_way_ < queue_.size() && under_way_ < options_.packets_under_way_max) {
    return TimePoint::min();
  }
  if (queue_.empty()) return std::min(acknowledge_at_, beat_at_);
  return std::min({acknowledge_at_, resend_at_, waits_since_ + options_.lost_after});
}

bool ParkedSession::lost(TimePoint now) const {
  return under_way_ > 0 && now >= waits_since_ + options_.lost_after;
}

void ParkedSession::on_acknowledged(std::uint64_t up_to, TimePoint now) {
  bool progress = false;
  while (under_way_ > 0 && queue_.front().sequence <= up_to) {
    const Item& item = queue_.front();
    if (!item.repeated) {
      const Duration taken = now - item.sent;
      round_trip_ = round_trip_ == Duration() ? taken : (7 * round_trip_ + taken) / 8;
    }
    queued_bytes_ -= item.payload.size();
    queue_.pop_front();
    --under_way_;
    progress = true;
  }
  if (!progress) return;
  // What was repeated has arrived by the way of the repetition.
  way_ += std::exchange(repeats_, 0);
  waits_since_ = under_way_ == 0 ? TimePoint::max() : now;
  resend_at_ = under_way_ == 0 ? TimePoint::max() : now + resend_interval();
}

// --- Receiving.

std::vector<ParkedArrival> ParkedSession::on_packet(ByteSpan sealed, TimePoint now) {
  const Result<Bytes> opened = open_sealed(key_in_, name_, sealed);
  if (!opened.ok()) return {};
  Result<ParkedPacket> packet = ParkedPacket::decode(*opened);
  if (!packet.ok()) return {};
  on_acknowledged(std::min(packet->acknowledged, next_sequence_ - 1), now);
  std::vector<ParkedArrival> out;
  if (packet->kind == ParkedKind::kAcknowledgement) return out;
  if (!is_sequenced(packet->kind)) {
    out.push_back({packet->kind, std::move(packet->payload)});
    return out;
  }
  // A packet that is known already, or comes before its turn: the sender is to learn so at once.
  const bool in_turn = packet->sequence == received_ + 1;
  acknowledge_at_ = in_turn ? std::min(acknowledge_at_, now + options_.acknowledge_after) : now;
  const bool fits = packet->sequence <= received_ + options_.packets_under_way_max &&
                    early_bytes_ + packet->payload.size() <= options_.queue_bytes_max;
  if (packet->sequence <= received_ || early_.contains(packet->sequence) || !(in_turn || fits)) {
    return out;
  }
  early_bytes_ += packet->payload.size();
  early_.emplace(packet->sequence, ParkedArrival{packet->kind, std::move(packet->payload)});
  while (!early_.empty() && early_.begin()->first == received_ + 1) {
    ++received_;
    early_bytes_ -= early_.begin()->second.payload.size();
    out.push_back(std::move(early_.begin()->second));
    early_.erase(early_.begin());
  }
  return out;
}

}  // namespace weft
