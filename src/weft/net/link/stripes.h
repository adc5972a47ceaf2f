// Stripes: further connections for the bulk lanes of links over paths with a high bandwidth-delay
// product (bulk_lane.h).
//
// Each side measures what it sends (link_gauge.h), or has a configured number. The side that
// dialled the link opens the connections, one after the other, to the address of its bulk
// connection; the other side asks for them over the control lane. Each connection is like the first
// two: the same key proved, a hello with the link's id and the connection's number. The dialler
// sends on it from its acceptance; the other side does so once the dialler has announced it over
// the control lane. A connection that cannot be opened is tried again after one second to one
// minute; the link continues without it. When one of the connections breaks, the link does, and the
// next link begins with one.
//
// Links that are relayed or punched, and those of one machine whose frames go through memory, keep
// one: their addresses cannot be dialled again, or nothing would be gained. Where it stands:
// LinkTransport owns one. Threads: the loop thread. Fails: kCorrupt for a message that no correct
// peer sends; others open at most 7 for a link and 256 in total.
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "weft/base/status.h"
#include "weft/net/link/knock.h"
#include "weft/net/link/link.h"
#include "weft/net/link/link_gauge.h"
#include "weft/wire/link_message.h"

namespace weft {

class Stripes final : public ConnectionOwner {
 public:
  // Finds the link to a peer: null if there is none any more.
  using FindLink = std::function<Link*(const PeerId&)>;
  Stripes(const LinkContext& context, FindLink find_link)
      : context_(context), find_link_(std::move(find_link)) {}
  ~Stripes() override;

  void on_link_up(Link& link);
  void on_link_down(const PeerId& peer);
  // Handles kConnections from the link's control lane.
  Status on_message(Link& link, ByteSpan head);
  // True if a connection with this hello, which is proved, is the next one of `link`.
  bool accepts(const Link& link, const HelloMessage& hello) const;

 private:
  struct Line {
    LinkGauge gauge;
    std::size_t wanted = 1;
    TimePoint not_before{};
    // The pause after the next failure; the other side may learn only in a moment who this one is.
    Duration pause = std::chrono::seconds(1);
    // The connection that is being made.
    std::shared_ptr<Knock> knock;
    std::shared_ptr<Connection> connection;
    TimerId timer;
  };
  using Lines = std::map<PeerId, Line>;

  void on_ready(Connection& connection) override;
  void on_frame(Connection& connection, const FrameView& frame) override;
  void on_ended(Connection& connection, const Status& why) override;

  bool may_have_more(const Link& link) const;
  std::size_t most() const;
  // The number of connections of all links that others dialled.
  std::size_t accepted() const;
  void want(Link& link, Line& line, std::size_t count);
  void measure();
  void open_next(const PeerId& peer);
  void on_knocked(const PeerId& peer, Result<Socket> socket);
  void fail(Lines::iterator line, const Status& why);
  void drop(Line& line);
  Lines::iterator find(const Connection& connection);
  void set_timer();

  const LinkContext& context_;
  FindLink find_link_;
  Lines lines_;
  TimerId timer_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace weft
