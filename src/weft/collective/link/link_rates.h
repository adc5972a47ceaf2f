// LinkRates: what the members of a view know of the links between them, and the ring order that
// follows.
//
// Each member measures what arrives at it (link_meter.h): from the traffic that there is, and from
// bursts that members send each other while nothing else waits to be sent, at most a hundredth of
// what they send. Its measurements are its row of a matrix; rows go from member to member, each
// beat one message to one other member, at distances 1, 2, 4, ... round the ring, so that what is
// new is with all of n members after log2 n beats.
//
// The first member of the ring compares the present order with the best that it finds, and the way
// that rounds go with the one that the measured links call for. If a round would be clearly
// shorter, it proposes a view of the same members in that order, with a summary of the links; they
// agree on it as on any other view, so order and way are the same for all, whatever each of them
// has measured.
//
// Where it stands: SwarmCore owns one and passes it the frames 0x40 and 0x41 of members.
// Threads: one owner; no I/O, no clock. With fewer than four members it does nothing: every ring of
// three uses all links there are.
// Fails: on_frame gives kCorrupt for what a correct member would not send. A member that lies about
// its links, or about those of others, can make the ring slow, and nothing else.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "weft/base/owner_thread.h"
#include "weft/base/status.h"
#include "weft/base/time.h"
#include "weft/collective/link/link_meter.h"
#include "weft/collective/link/ring_order.h"
#include "weft/collective/reduce/collective.h"
#include "weft/collective/reduce/swarm_defaults.h"
#include "weft/net/transport.h"
#include "weft/peer/view.h"
#include "weft/wire/link_rate_message.h"

namespace weft {

struct LinkRatesOptions {
  PeerId self;
  // False: nothing is measured and nothing is reordered.
  bool enabled = swarm_defaults::kMeasuredRing;
  // Nor in a view of more members, which have no connections with each other.
  int mesh_members = swarm_defaults::kMeshMembers;
  Duration beat = std::chrono::seconds(1);
  // A burst; the first of them are free, all further ones such a share of what is sent.
  std::size_t probe_bytes = 128 * 1024;
  std::uint64_t probe_bytes_first = 1 << 20;
  double probe_share = 0.01;
  // To one member, once it has had a few.
  Duration probe_interval = std::chrono::seconds(60);
  // A new order must make rounds shorter by this factor and by this time, ...
  double gain_min = 1.15;
  Duration saving_min = std::chrono::milliseconds(10);
  // ... this share of the matrix must be known, and this many rounds lie between two new orders.
  double known_min = 0.9;
  std::uint64_t rounds_between = 20;
};

// Borrowed by LinkRates and must outlive it.
class LinkRateSink {
 public:
  virtual ~LinkRateSink() = default;
  virtual void send(const PeerId& to, Lane lane, Frame frame) = 0;
  virtual std::size_t queued_bytes(const PeerId& to) const = 0;
  virtual bool linked(const PeerId& peer) const = 0;
  // 0: not known.
  virtual double rtt_seconds(const PeerId& peer) const = 0;
};

// The vectors that rounds exchange. `way` is as in any view; its link is assumed where none was
// measured.
struct RoundLoad {
  CollectiveOptions way;
  std::int64_t elements = 0;
};

// A new order that this member would propose, and what it is worth.
struct BetterRing {
  std::vector<PeerId> order;
  // Rounds go this way now, and would go that way then.
  Algorithm way_now = Algorithm::kRing;
  Algorithm way_then = Algorithm::kRing;
  double seconds_now = 0;
  double seconds_then = 0;
};

class LinkRates {
 public:
  // Borrows `sink`.
  LinkRates(LinkRatesOptions options, LinkRateSink& sink) : options_(options), sink_(sink) {}

  // REQUIRES: `view` contains this member.
  void on_view(const View& view, TimePoint now);
  void leave_view();
  // kLinkReport, kProbe of a member of the view.
  Status on_frame(const PeerId& from, const FrameView& frame, TimePoint now);
  // A bulk frame of a member arrived, or was sent by this one.
  void on_traffic(const PeerId& from, std::size_t bytes, TimePoint now);
  void on_sent(std::size_t bytes) { bytes_sent_ += bytes; }
  // A round was committed, and none is open.
  void on_committed(Round round, const RoundLoad& load, TimePoint now);
  void on_timer(TimePoint now);
  TimePoint next_deadline() const { return active() ? beat_at_ : TimePoint::max(); }

  // Given once, at the first member of the ring: propose a view.
  std::optional<BetterRing> take_better();
  // The members in the order last given by take_better(), if there is one; newcomers last.
  std::vector<Member> arrange(std::vector<Member> members) const;
  // The summary of a ring of these members; that of the view if too little is known.
  LinkSummary summary(const std::vector<Member>& members) const;

  // --- Queries.
  // By rank; rates that are not known here are 0.
  LinkMatrix matrix() const;
  std::uint64_t bytes_probed() const { return bytes_probed_; }

 private:
  // What one member receives, from each rank.
  struct Row {
    std::uint64_t sequence = 0;
    TimePoint measured;
    // How many more times the row is to be sent.
    int hot = 0;
    std::vector<LinkEntry> links;
  };
  // One other member.
  struct Peer {
    std::uint64_t incarnation = 0;
    LinkMeter meter;
    int probes = 0;
    TimePoint probed;
  };

  bool active() const {
    return options_.enabled && view_.size() >= kMembersLeast &&
           view_.size() <= options_.mesh_members;
  }
  Status on_report(const PeerId& from, const LinkReportMessage& report, TimePoint now);
  void measure(TimePoint now);
  void gossip(TimePoint now);
  void send_rows(const PeerId& to, const std::vector<int>& reporters, TimePoint now);
  void greet(const View& before, TimePoint now);
  void probe(TimePoint now);
  Peer* probe_target(TimePoint now, PeerId& target);
  void compare();
  BetterRing judge(const LinkMatrix& links) const;
  int distances() const;

  static constexpr int kMembersLeast = 4;

  const LinkRatesOptions options_;
  LinkRateSink& sink_;
  View view_;
  int rank_ = 0;
  // By rank.
  std::vector<Row> rows_;
  std::map<PeerId, Peer> peers_;
  TimePoint beat_at_ = TimePoint::max();
  std::uint64_t beats_ = 0;
  bool probe_due_ = false;
  std::uint32_t probes_ = 0;
  std::uint64_t bytes_sent_ = 0;
  std::uint64_t bytes_probed_ = 0;

  Round committed_;
  RoundLoad load_;
  // The round after which the order last changed, or the last comparison was made.
  Round ordered_;
  Round compared_;
  // How often in a row another order was better.
  int better_ = 0;
  std::optional<BetterRing> proposal_;
  std::vector<PeerId> proposed_;
  OwnerThread owner_;
};

}  // namespace weft
