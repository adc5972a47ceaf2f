// Link: the connections to one peer, once both lanes are accepted: one for the control lane, one or
// more for the bulk lane (bulk_lane.h).
//
// Threads: the loop thread.
#pragma once

#include <memory>
#include <utility>

#include "weft/base/status.h"
#include "weft/net/link/bulk_lane.h"
#include "weft/net/stream/connection.h"
#include "weft/net/stream/medium.h"

namespace weft {

class Link;

class LinkOwner {
 public:
  virtual ~LinkOwner() = default;
  virtual void on_link_frame(Link& link, Lane lane, const FrameView& frame) = 0;
  // A frame by which peers introduce each other; an error ends the link.
  virtual Status on_link_reach(Link& link, const FrameView& frame) = 0;
  // The peer offers a shortcut; an error ends the link. This call and the similar ones below occur
  // for proved peers only; an earlier offer is delivered when the peer becomes proved.
  virtual Status on_link_shortcut(Link& link, ByteSpan head) = 0;
  // The peer announces connections, or asks for them; an error ends the link.
  virtual Status on_link_connections(Link& link, ByteSpan head) = 0;
  // The process at the other end has answered.
  virtual void on_link_alive(Link& link) = 0;
  virtual void on_link_writable(Link& link, Lane lane) = 0;
  virtual MutableByteSpan link_body_destination(Link& link, std::uint8_t type, ByteSpan head,
                                                std::size_t body_bytes) = 0;
  virtual bool link_reads_body_once(Link& link, std::uint8_t type) = 0;
  // The link broke, or the peer ended it; drop() is still to be called.
  virtual void on_link_ended(Link& link, const Status& why) = 0;
};

// The result of a handshake, on either side.
struct LinkParts {
  std::shared_ptr<Connection> control;
  std::shared_ptr<Connection> bulk;
  LinkInfo info;
  std::uint64_t remote_instance = 0;
  // The id that both sides sent in their hellos.
  LinkId id{};
};

class Link final : public ConnectionOwner, public std::enable_shared_from_this<Link> {
 public:
  Link(const LinkContext& context, LinkParts parts, LinkOwner& owner);

  // Lets frames in, including those that have arrived already.
  void open(LinkTrust trust);
  void set_trust(LinkTrust trust);
  LinkTrust trust() const { return trust_; }
  // True once, when the peer becomes proved: shortcuts and further connections begin then.
  bool begin_services() {
    return trust_ == LinkTrust::kProved && !std::exchange(services_begun_, true);
  }
  Status send(Lane lane, Frame frame);
  std::size_t queued_bytes(Lane lane) const;
  void cancel_bulk() { lane_.cancel(); }
  // True if both ends of the control connection have the same address.
  bool within_one_machine() const;
  // The connections that carry the bulk frames; further ones are added there.
  BulkLane& bulk() { return lane_; }
  const BulkLane& bulk() const { return lane_; }
  // Closes at once; the owner gets no more calls about the link.
  void drop();
  // Closes as well, but the control lane first sends its queue, and the reason.
  void say_goodbye(const Status& why);

  const LinkInfo& info() const { return parts_.info; }
  // The source addresses of the two lanes' connections, as this side sees them.
  std::array<std::string, 2> remote_endpoints() const {
    return {parts_.control->remote_endpoint(), parts_.bulk->remote_endpoint()};
  }
  std::uint64_t remote_instance() const { return parts_.remote_instance; }
  const LinkId& id() const { return parts_.id; }
  // Asks the other end whether it answers; owner.on_link_alive() follows if it does.
  void ask_alive();
  TransportStats stats() const;

 private:
  void on_ready(Connection& /*connection*/) override {}
  void on_frame(Connection& connection, const FrameView& frame) override;
  MutableByteSpan body_destination(Connection& connection, std::uint8_t type, ByteSpan head,
                                   std::size_t body_bytes) override;
  bool reads_body_once(Connection& connection, std::uint8_t type) override;
  void on_writable(Connection& connection) override;
  void on_ended(Connection& connection, const Status& why) override;

  // Handles a frame of the link's own protocol.
  Status on_own_frame(Lane lane, const FrameView& frame);
  Status on_alive(const FrameView& frame);
  Status on_proved_frame(const FrameView& frame);
  // Counts a stranger's frame against its limits.
  Status count(const FrameView& frame);
  Lane lane_of(const Connection& connection) const {
    return &connection == parts_.control.get() ? Lane::kControl : Lane::kBulk;
  }

  const LinkContext& context_;
  LinkParts parts_;
  LinkOwner& owner_;
  BulkLane lane_;
  LinkTrust trust_ = LinkTrust::kStranger;
  std::uint64_t frames_of_stranger_ = 0;
  std::uint64_t bytes_of_stranger_ = 0;
  bool services_begun_ = false;
  // An offer that the dialler sent before this side could know who it is.
  Bytes early_shortcut_;
  bool overflowed_ = false;
  bool bulk_ended_ = false;
};

// `link_id` is the id that both sides sent in their hellos.
LinkInfo make_link_info(const PeerId& peer, bool inbound, Connection& control, ByteSpan link_id);

}  // namespace weft
