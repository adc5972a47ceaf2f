// ParkedSession: one end of a parked link: its control frames in order and once, over ways that
// lose, repeat and reorder packets and are not trusted.
//
// Packets are sealed end to end under keys that follow from the secret of the link's TLS
// connection, so that members on the way can drop and delay them and nothing else. Frames are
// numbered; the receiver puts them in order and acknowledges them, the sender repeats those that
// are not acknowledged, each time by another way if there is one.
//
// Where it stands: a ParkingTransport owns one for each parked link and finds the ways.
// Threads: one owner; no I/O, no clock. Fails: a packet that is not the other end's is ignored; it
// may be anybody's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "weft/base/bytes.h"
#include "weft/base/hash.h"
#include "weft/base/time.h"
#include "weft/net/parking_transport.h"
#include "weft/wire/parking_message.h"

namespace weft {

// A sealed packet to be sent to the other end.
struct SealedPacket {
  Bytes sealed;
  // 0 for the way that worked last; each further one for the next of the ways that there are.
  std::size_t way = 0;
  // A probe of the ways through others: not to be sent by the link's own connection.
  bool routed_only = false;
};

struct ParkedArrival {
  ParkedKind kind = ParkedKind::kFrame;
  Bytes payload;
};

class ParkedSession {
 public:
  // `secret` is the link's (LinkInfo::exporter); `nonce` is new each time that it is parked.
  ParkedSession(const PeerId& self, const PeerId& peer, const Hash256& secret,
                const ParkNonce& nonce, const ParkedSessionOptions& options, TimePoint now);

  // The same at both ends, and nobody else can compute it.
  const ParkName& name() const { return name_; }

  // --- Sending.
  // False if the queue is full: the other end takes no frames.
  bool send(ParkedKind kind, Bytes payload, TimePoint now);
  // What is to be sent now, in this order.
  std::vector<SealedPacket> take_due(TimePoint now);
  // Everything that is not acknowledged, for a way that loses nothing.
  std::vector<SealedPacket> take_all(TimePoint now);
  // When take_due() has something, or lost() may become true.
  TimePoint deadline() const;
  bool lost(TimePoint now) const;
  std::size_t queued_bytes() const { return queued_bytes_; }
  double rtt_seconds() const { return to_seconds(round_trip_); }

  // --- Receiving. What is next in order now that the packet is here; nothing if another one is
  // missing.
  std::vector<ParkedArrival> on_packet(ByteSpan sealed, TimePoint now);

 private:
  struct Item {
    std::uint64_t sequence = 0;
    ParkedKind kind = ParkedKind::kFrame;
    Bytes payload;
    TimePoint sent;
    bool repeated = false;
  };

  SealedPacket seal_packet(const ParkedPacket& packet);
  SealedPacket seal_item(Item& item, TimePoint now);
  void on_acknowledged(std::uint64_t up_to, TimePoint now);
  Duration resend_interval() const;

  const ParkedSessionOptions options_;
  ParkName name_{};
  Hash256 key_out_{};
  Hash256 key_in_{};

  // Not acknowledged; the first `under_way_` of them were sent.
  std::deque<Item> queue_;
  std::size_t under_way_ = 0;
  std::size_t queued_bytes_ = 0;
  std::uint64_t next_sequence_ = 1;
  // Without numbers, sent once.
  std::vector<ParkedPacket> loose_;
  TimePoint resend_at_ = TimePoint::max();
  // Since then nothing was acknowledged that should have been.
  TimePoint waits_since_ = TimePoint::max();
  TimePoint beat_at_;
  std::size_t repeats_ = 0;
  std::size_t way_ = 0;
  Duration round_trip_{};

  // In order up to this; and those that came before their turn.
  std::uint64_t received_ = 0;
  std::map<std::uint64_t, ParkedArrival> early_;
  std::size_t early_bytes_ = 0;
  TimePoint acknowledge_at_ = TimePoint::max();
};

}  // namespace weft
