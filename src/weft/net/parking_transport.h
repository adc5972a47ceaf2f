// ParkingTransport: links to everybody in a large group, with connections to a few dozen members.
//
// Up to a limit of members nothing happens here. In a larger group each member keeps connections
// only to its neighbours (net/parking/mesh_ring.h). A link between two others is *parked* once it
// has carried no bulk frame for a while: its connections are closed, and its control frames travel
// through other members, sealed end to end (parked_session.h). To the handler above it is one link
// all the time: up, in order, once. A bulk frame, a large frame or a change of the ring opens its
// connections again.
//
//   open --ask, answer, done, probe, hang up--> parked --dial, resume, unpark--> open
//
// A link begins with connections, so that both ends have proved their keys, and is parked only if
// both agree and a packet has come back by the way through the others. If the other end of a parked
// link acknowledges nothing for `lost_after`, the link goes down like any other; the owner dials it
// again, and it is parked later the next time.
//
// Where it stands: between a core and its transport, with the events of the transport coming in and
// those of the links going out. Threads: one owner, that of the transport. Fails: as Transport.
// A member that forwards can drop and delay packets, which costs the link its way through others,
// and learns who speaks with whom and how much. It forwards for members of its ring only, and drops
// what does not fit into `forward_queue_bytes_max`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "weft/base/rng.h"
#include "weft/base/status.h"
#include "weft/base/time.h"
#include "weft/net/transport.h"
#include "weft/wire/parking_message.h"

namespace weft {

class MeshRing;
struct ParkedArrival;
struct SealedPacket;

struct ParkedSessionOptions {
  // Without anything to send for so long, a beat is sent.
  Duration beat_interval = std::chrono::seconds(2);
  // An arrival that nothing is sent after is acknowledged by a packet of its own.
  Duration acknowledge_after = std::chrono::milliseconds(50);
  // Before the round trip is known; then three times that, and no less than this half.
  Duration resend_after = std::chrono::milliseconds(400);
  // Something was sent, and nothing was acknowledged for so long: the other end is lost.
  Duration lost_after = std::chrono::seconds(3);
  std::size_t queue_bytes_max = 1024 * 1024;
  std::size_t packets_under_way_max = 64;
};

struct ParkingOptions {
  // Nothing is parked among at most so many members.
  std::size_t mesh_members = 32;
  ParkedSessionOptions session;
  // A link with no neighbour that has carried no bulk frame for so long is to be parked.
  Duration idle_before = std::chrono::seconds(3);
  // Asked again after a refusal; a way that failed doubles it, up to the second.
  Duration retry_after = std::chrono::seconds(5);
  Duration retry_after_max = std::chrono::minutes(10);
  // For a probe to come back, and for the first frame of a link that may continue a parked one.
  Duration answer_limit = std::chrono::seconds(2);
  // Frames for others are dropped when the queue of a link is longer.
  std::size_t forward_queue_bytes_max = 256 * 1024;
  // At most so much waits until a parked link is open.
  std::size_t held_bytes_max = 64 * 1024 * 1024;
  // Members of the ring before are forwarded to for so long.
  Duration former_ring_kept = std::chrono::seconds(5);
};

// For people and benches.
struct ParkingStats {
  // Peers with connections, and links without.
  std::size_t connected = 0;
  std::size_t parked = 0;
  std::uint64_t packets_forwarded = 0;
  std::uint64_t packets_dropped = 0;
};

class ParkingTransport final : public Transport, public TransportHandler {
 public:
  // Borrows `inner` and `clock`, which must outlive this. The handler of `inner` hands its calls on
  // to the methods of TransportHandler below.
  ParkingTransport(ParkingOptions options, Transport& inner, const Clock& clock, Rng rng);
  ~ParkingTransport() override;

  // The members, in an order that is the same at all of them: links among them may be parked, and
  // parked links with others end after a while. `distances` as MeshRing's. REQUIRES: this peer is
  // one of them.
  void set_ring(std::vector<PeerAddress> members, const std::vector<int>& distances);
  // All parked links are down, and their ends are not informed: this peer is in no ring any more.
  void drop_parked(const Status& why);
  void on_timer();
  TimePoint next_deadline() const;
  bool parked(const PeerId& peer) const;
  ParkingStats parking_stats() const;
  // The peers to which there are connections.
  const std::set<PeerId>& connected() const { return connected_; }

  // --- Transport.
  const PeerId& self() const override { return inner_.self(); }
  void set_handler(TransportHandler& handler) override { handler_ = &handler; }
  void connect(const PeerAddress& peer) override;
  Status send(const PeerId& to, Lane lane, Frame frame) override;
  std::size_t queued_bytes(const PeerId& to, Lane lane) const override;
  void cancel_bulk(const PeerId& to) override;
  void close(const PeerId& peer, const Status& why) override;
  bool linked(const PeerId& peer) const override;
  void set_trust(const PeerId& peer, LinkTrust trust) override;
  std::vector<std::string> endpoints() const override { return inner_.endpoints(); }
  TransportStats stats(const PeerId& peer) const override;
  TransportStats total_stats() const override { return inner_.total_stats(); }

  // --- TransportHandler, of `inner`.
  LinkTrust first_trust(const LinkInfo& link) override { return handler_->first_trust(link); }
  void on_link_up(const LinkInfo& link) override;
  void on_link_down(const PeerId& peer, const Status& why) override;
  void on_frame(const PeerId& from, Lane lane, const FrameView& frame) override;
  void on_writable(const PeerId& peer, Lane lane) override;
  void on_refused(const std::string& remote_endpoint, const Status& why) override;
  void on_twin(const PeerId& peer, const std::string& remote_endpoint) override;
  MutableByteSpan body_destination(const PeerId& from, std::uint8_t type, ByteSpan head,
                                   std::size_t body_bytes) override;
  bool reads_body_once(std::uint8_t type) override { return handler_->reads_body_once(type); }

 private:
  struct Link;

  // --- Parking (net/parking/parking_steps.cpp).
  void consider_parking(Link& link);
  Status on_ask(Link& link, const FrameView& frame);
  Status on_answer(Link& link, const FrameView& frame);
  Status on_done(Link& link, Lane lane, const FrameView& frame);
  Status on_resume(Link& link, const FrameView& frame);
  void start_session(Link& link, const ParkNonce& nonce);
  void end_session(Link& link);
  // Whether the link has to have connections of its own.
  bool wants_connections(const Link& link) const;
  // Whether the link may be a parked one to the other end.
  bool may_be_parked_at(const PeerId& peer) const;
  void probe(Link& link);
  void hang_up(Link& link);
  void close_connections(Link& link);
  // Toward connections, as far as that is possible now.
  void open_again(Link& link);
  void unpark(Link& link);
  void flush_held(Link& link);
  // The new connections are no continuation: the old link is down, and a new one is up.
  void begin_anew(const PeerId& peer);
  void deliver_early(const PeerId& peer);
  void fail_session(const PeerId& peer, const Status& why);

  // --- Packets (net/parking/parking_packets.cpp).
  void pump(Link& link);
  void transmit(const Link& link, SealedPacket packet);
  Status on_routed(const PeerId& from, const FrameView& frame);
  void forward(const PeerId& from, RoutedMessage packet);
  void take_packet(const PeerId& from, const RoutedMessage& packet);
  Status on_arrival(Link& link, bool routed, const ParkedArrival& arrival);
  Status take_frame(const PeerId& peer, ByteSpan payload);
  void send_own(const PeerId& to, Lane lane, std::uint8_t type, Bytes head);
  bool forwards_for(const PeerId& peer) const;
  // Linked members on the way to `target`, the best first.
  std::vector<PeerId> ways(const PeerId& target) const;

  // --- Links (net/parking/parking_transport.cpp).
  Link* find(const PeerId& peer) const;
  Link& link_of(const PeerId& peer);
  // Both call the handler, which may call back.
  void announce_up(const PeerId& peer);
  void announce_down(const PeerId& peer, const Status& why);
  Status hold(Link& link, Lane lane, Frame frame);
  Status on_parking_frame(const PeerId& from, Lane lane, const FrameView& frame);
  void on_time(const PeerId& peer);
  void on_dial_failed(Link& link, const Status& why);
  // After anything that happened to the link: sends what is due, and sets its time.
  void settle(const PeerId& peer);
  TimePoint due_of(const Link& link) const;
  void set_due(Link& link, TimePoint due);
  Duration pause_before_asking(const Link& link);
  TimePoint now() const { return clock_.now(); }

  const ParkingOptions options_;
  Transport& inner_;
  const Clock& clock_;
  Rng rng_;
  TransportHandler* handler_ = nullptr;

  std::unique_ptr<MeshRing> ring_;
  // The one before, until then.
  std::unique_ptr<MeshRing> former_ring_;
  TimePoint former_until_{};

  std::map<PeerId, std::unique_ptr<Link>> links_;
  std::set<PeerId> connected_;
  std::set<std::pair<TimePoint, PeerId>> due_;
  ParkingStats stats_;
};

}  // namespace weft
