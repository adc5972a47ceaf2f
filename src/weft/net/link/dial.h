// Dial: one attempt to make a link: a race of several ways to the peer for the control lane, then
// the bulk lane on the way that won.
//
// The peer's addresses are tried in order, a quarter of a second apart, or at once when the
// previous one has failed; further addresses and ways (a punched connection, a relay) may be added
// during the attempt. If several connections are made, only one sends a hello. Threads: the loop
// thread.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/base/status.h"
#include "weft/net/link/knock.h"
#include "weft/net/link/link.h"
#include "weft/net/stream/medium.h"
#include "weft/wire/link_message.h"
#include "weft/wire/reach_message.h"

namespace weft {

// A way to a peer that another peer offered.
struct DialWay {
  LinkRoute route;
  // For a relay: "host:port" each, tried like the peer's own endpoints.
  std::vector<std::string> endpoints;
  // The addresses of the two lanes, used instead of `endpoints` for hole punching.
  std::optional<std::array<SocketAddress, 2>> punch_addresses;
  ReachAttempt attempt{};
  // What the relay requires for each lane.
  std::optional<std::array<RelayToken, 2>> tokens;
};

class Dial final : public ConnectionOwner, public std::enable_shared_from_this<Dial> {
 public:
  // Called once on the loop, unless the dial is abandoned.
  using Done = std::function<void(Result<LinkParts>)>;
  // Called when no way is left: true if more are being searched for, and add_way() or give_up()
  // follows.
  using Exhausted = std::function<bool()>;

  Dial(const LinkContext& context, PeerAddress peer, Done done);
  void start();
  void set_when_exhausted(Exhausted exhausted) { exhausted_ = std::move(exhausted); }
  void add_way(DialWay way);
  // Adds further addresses of the peer's own during the dial: they join the race.
  void add_endpoints(const std::vector<std::string>& endpoints);
  // Takes a connection that the other side made to this side's listening socket, after its preface.
  void take_punched(Socket socket, const PrefaceMessage& preface);
  // Answers the other side's punch instead, from and to the same addresses.
  void yield_to_punch(const SocketAddress& address);
  // Called when nobody searches for further ways any more; punched ones are dropped.
  void give_up(const std::string& why);
  // Closes everything; `done` is not called any more.
  void abandon();

  // True if the peer may have received a hello of this dial.
  bool greeted() const { return greeted_; }
  bool finished() const { return finished_; }
  const PeerAddress& peer() const { return peer_; }
  // The reasons why the ways tried so far failed.
  const std::string& failures() const { return failures_; }

 private:
  struct Target {
    std::size_t way = 0;
    std::array<SocketAddress, 2> addresses;
    std::string name;
    // Dialled from the lane's own port if it is far away.
    bool own_port = true;
    // When the first connection to it must be a link; unset until it is tried.
    std::optional<TimePoint> deadline;
    Duration pause{};
  };
  // One connection to one target, from its first packet on.
  struct Try {
    Target target;
    Lane lane{};
    std::shared_ptr<Knock> knock;
    std::shared_ptr<Connection> connection;
    TimerId timer;
    bool ready = false;
    bool over = false;
  };
  using TryPtr = std::shared_ptr<Try>;

  void on_ready(Connection& connection) override;
  void on_frame(Connection& connection, const FrameView& frame) override;
  void on_ended(Connection& connection, const Status& why) override;

  // --- The race.
  void resolve(std::size_t way, const std::string& endpoint);
  void resolve_all(std::size_t way, const std::vector<std::string>& endpoints);
  void add_target(Target target);
  void start_next();
  void proceed();
  void run_out();
  TryPtr begin(Target target, Lane lane);
  void on_knocked(const TryPtr& attempt, Result<Socket> socket);
  void take_socket(const TryPtr& which, Socket socket, bool heard);
  std::unique_ptr<ByteStream> make_stream(const Try& attempt, int socket, bool heard);
  TryPtr find(const Connection& connection) const;
  void fail(const TryPtr& which, const Status& why);
  void record(const std::string& name, const Status& why);
  void drop_punched();
  // Drops connections between the same two ports, of which only one can exist.
  void drop_tries_to(const SocketAddress& address);
  static void drop(EventLoop& loop, Try& attempt);
  void drop_all();

  // --- The one that greets.
  void greet(const TryPtr& which);
  void on_reply(const HelloReplyMessage& reply);
  void on_accepted(const HelloReplyMessage& reply);
  void try_again();
  void finish(Result<LinkParts> result);
  // The try whose connection waits for an answer to its hello, or is about to send it.
  const TryPtr& greeting() const { return bulk_ != nullptr ? bulk_ : chosen_; }

  const LinkContext& context_;
  PeerAddress peer_;
  Done done_;
  Exhausted exhausted_;
  std::vector<DialWay> ways_;
  std::deque<Target> waiting_;
  std::list<TryPtr> tries_;
  std::size_t targets_ = 0;
  std::size_t resolving_ = 0;
  TimerId resolve_timer_;
  TimerId stagger_timer_;
  TimerId pause_timer_;
  bool pausing_ = false;
  // True if the next target need not wait any longer.
  bool due_ = false;
  // The control lane's winner; after it was accepted, the bulk lane uses the same way.
  TryPtr chosen_;
  TryPtr bulk_;
  // The other side may punch the bulk lane before this side is ready for it.
  Socket early_bulk_;
  std::size_t early_way_ = 0;
  LinkId link_{};
  std::uint64_t remote_instance_ = 0;
  bool started_ = false;
  bool greeted_ = false;
  bool finished_ = false;
  std::string failures_;
  Code failure_code_ = Code::kUnavailable;
  // True if an address failed otherwise than by a machine without such a process.
  bool may_listen_ = false;
};

}  // namespace weft
