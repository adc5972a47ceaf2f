// Link: the connections to one peer, from the moment that both lanes are accepted: one for the
// control lane, one or more for the bulk lane (bulk_lane.h).
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
  // A frame by which peers bring each other together; an error ends the link.
  virtual Status on_link_reach(Link& link, const FrameView& frame) = 0;
  // The peer offers a shortcut; an error ends the link. This and the others like it come from
  // proved peers only, an offer of before at the moment that it is.
  virtual Status on_link_shortcut(Link& link, ByteSpan head) = 0;
  // The peer tells of connections, or wishes for them; an error ends the link.
  virtual Status on_link_connections(Link& link, ByteSpan head) = 0;
  // The process at the other end answers.
  virtual void on_link_alive(Link& link) = 0;
  virtual void on_link_writable(Link& link, Lane lane) = 0;
  virtual MutableByteSpan link_body_destination(Link& link, std::uint8_t type, ByteSpan head,
                                                std::size_t body_bytes) = 0;
  virtual bool link_reads_body_once(Link& link, std::uint8_t type) = 0;
  // Broken, or ended by the peer; drop() is still to be called.
  virtual void on_link_ended(Link& link, const Status& why) = 0;
};

// What a handshake of either side yields.
struct LinkParts {
  std::shared_ptr<Connection> control;
  std::shared_ptr<Connection> bulk;
  LinkInfo info;
  std::uint64_t remote_instance = 0;
  // What both sides said in their hellos.
  LinkId id{};
};

class Link final : public ConnectionOwner, public std::enable_shared_from_this<Link> {
 public:
  Link(const LinkContext& context, LinkParts parts, LinkOwner& owner);

  // Lets frames in, those that have arrived already included.
  void open(LinkTrust trust);
  void set_trust(LinkTrust trust);
  LinkTrust trust() const { return trust_; }
  // True once: shortcuts and further connections begin when the peer is proved first.
  bool begin_services() {
    return trust_ == LinkTrust::kProved && !std::exchange(services_begun_, true);
  }
  Status send(Lane lane, Frame frame);
  std::size_t queued_bytes(Lane lane) const;
  void cancel_bulk() { lane_.cancel(); }
  // Both ends of the control connection have the same address.
  bool within_one_machine() const;
  // What carries the bulk frames; further ways are added there.
  BulkLane& bulk() { return lane_; }
  const BulkLane& bulk() const { return lane_; }
  // Closes at once; nothing is heard of the link any more.
  void drop();
  // The same, but the control lane still sends what it holds, and the reason.
  void say_goodbye(const Status& why);

  const LinkInfo& info() const { return parts_.info; }
  // Where the connections of the two lanes come from, as seen here.
  std::array<std::string, 2> remote_endpoints() const {
    return {parts_.control->remote_endpoint(), parts_.bulk->remote_endpoint()};
  }
  std::uint64_t remote_instance() const { return parts_.remote_instance; }
  const LinkId& id() const { return parts_.id; }
  // Asks the other end whether it answers; then owner.on_link_alive() follows, or never.
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

  // A frame of the link's own.
  Status on_own_frame(Lane lane, const FrameView& frame);
  Status on_alive(const FrameView& frame);
  Status on_proved_frame(const FrameView& frame);
  // What a stranger may say of them all.
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
  // What the dialler says at once, before this side can know who it is.
  Bytes early_shortcut_;
  bool overflowed_ = false;
  bool bulk_ended_ = false;
};

// `link_id` is what both sides said in their hellos.
LinkInfo make_link_info(const PeerId& peer, bool inbound, Connection& control, ByteSpan link_id);

}  // namespace weft
