// GossipCore: one member of a loose exchange; averages parameters with its neighbours, round by
// round, without any agreement.
//
// In round r a member sends its parameters x_i to its neighbours, receives theirs, and continues
// from the mean x_i := sum_j W_ij x_j. There are no views and no commits: a neighbour that has not
// sent in time is left out of this member's mean, its weight goes to the member's own parameters,
// and no other member needs to know of it. Members join and leave by their records in the address
// book alone.
//
//   caller                 core
//   begin(x)         ->    sends x to the neighbours: the round is open
//   (computes)             takes what they send
//   await(now)       ->    now the deadline runs
//   ready()                all have answered, or the deadline has passed
//   finish(out)      ->    out = sum_j W_ij x_j; the next round may begin
//
// The first round. Members gather until `start_members` are in each one's book and all neighbours
// have links; so all begin with one topology, and as long as none misses a deadline the rounds have
// the same bits as any other run of the same members. A member that sees others begin waits for
// what it lacks, at most until the deadline.
//
// What holds. W has rows that sum to 1, always. It is symmetric, so the members' mean stays what it
// was, in each round in which no vector was late: both ends know both degrees (Metropolis weights),
// and an edge that only one end believes in is used by neither in that round. The end that lacks it
// answers *absent*, and has the edge from the next round on.
//
// A newcomer first asks a linked member for its parameters, adopts them and its round; members that
// do not wait for a newcomer's start are `gathering` until enough are there. A member that is left
// behind jumps to the round of its neighbours (their lower median, so that one liar cannot move
// it).
//
// Memory: the vector sent last, and at most kVectorsPerPeerMax vectors of a bounded number of
// peers, all shared with their senders if those are in this process.
//
// IMPLEMENTATION: Lian et al., "Can decentralized algorithms outperform centralized algorithms? A
// case study for decentralized parallel stochastic gradient descent" (D-PSGD), NeurIPS 2017,
// algorithm 1: the gradient is taken at x_i before the mix, so that both may overlap. Deadlines,
// absent members and jumps are ours. Bytes: 4 * elements for each neighbour and round.
// Where it stands: GossipMember drives it over sockets, a simulation in virtual time.
// Threads: one owner; no thread, socket or clock inside. Actions are to be taken after each call.
// Fails: a peer's faults end its link with kCorrupt (GossipClose), nothing else.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <variant>
#include <vector>

#include "weft/base/bytes.h"
#include "weft/base/hash.h"
#include "weft/base/owner_thread.h"
#include "weft/base/status.h"
#include "weft/base/time.h"
#include "weft/gossip/book/address_book.h"
#include "weft/gossip/book/dial_plan.h"
#include "weft/gossip/inbox.h"
#include "weft/gossip/mixing_rule.h"
#include "weft/gossip/topology/topology.h"
#include "weft/net/identity.h"
#include "weft/net/transport.h"

namespace weft {

struct GossipOptions {
  RunId run{};
  // signer_of() the identity.
  RecordSigner signer{};
  // Larger than in any earlier life of this identity in the run.
  std::uint64_t incarnation = 1;
  std::vector<std::string> endpoints{};
  std::uint64_t elements = 1;
  // A run that goes on from a state that was kept begins later than with round 1; its founder gives
  // newcomers `first_parameters`.
  Round first_round = Round(1);
  SharedBytes first_parameters{};
  Round last_round = Round(~std::uint64_t{0} >> 1U);
  Topology topology{};
  // Weights count each member as one of at least this many neighbours, which all members must know;
  // 0: Metropolis weights.
  std::size_t weight_degree = 0;
  MixingRule mixing = MixingRule::kByWeights;
  // kNearest: how many neighbours may lie.
  std::size_t liars = 0;
  // How long a round waits for neighbours once the own part is done.
  Duration deadline = std::chrono::seconds(2);
  // The first round begins when this many members are there, or after start_timeout with those that
  // are.
  std::size_t start_members = 1;
  Duration start_timeout = std::chrono::minutes(10);
  // The run goes on already: parameters are fetched first.
  bool newcomer = false;
  // How long to wait for parameters before another member is asked.
  Duration fetch_timeout = std::chrono::seconds(5);
  Duration dial_interval = std::chrono::seconds(1);
  Duration doubt_for = std::chrono::seconds(20);
  // How long changes of members are collected before they are passed on.
  Duration book_interval = std::chrono::milliseconds(50);
  // A linked neighbour that misses this many deadlines in a row is presumed gone until it sends
  // something.
  int missed_max = 3;
  // How long a link stays that no topology asks for: a newcomer's first one must last until its
  // parameters have arrived and its neighbours know of it.
  Duration idle_for = std::chrono::seconds(60);
  // `run`, `last_round` are taken from above.
  AddressBookOptions book{};
};

struct GossipSend {
  PeerId to;
  Lane lane = Lane::kControl;
  Frame frame;
};
struct GossipDial {
  PeerAddress peer;
};
struct GossipClose {
  PeerId peer;
  Status why;
};
using GossipAction = std::variant<GossipSend, GossipDial, GossipClose>;

enum class GossipPhase : std::uint8_t {
  kFetching,   // asks for parameters
  kGathering,  // waits for start_members
  kIdle,       // begin() may be called
  kOpen,       // between begin() and finish()
  kOver,       // the last round is finished, or leave() was called
};

// What became of one round.
struct GossipMix {
  Round round;
  std::size_t members = 1;  // in the book and not doubted, this one included
  std::size_t degree = 0;   // neighbours that were sent to
  std::size_t mixed = 0;    // whose parameters are in the mean
  std::size_t missing = 0;  // that had not sent at the deadline
  double own_weight = 1;
};

struct GossipCounts {
  std::uint64_t rounds = 0;
  std::uint64_t missing = 0;         // sum over rounds
  std::uint64_t jumps = 0;           // rounds that were left out to catch up, in all
  std::uint64_t corrupt_frames = 0;  // each ended a link
};

class GossipCore {
 public:
  GossipCore(GossipOptions options, TimePoint now);

  // --- Events.
  void link_up(const PeerId& peer, TimePoint now);
  // Also for a dial that failed.
  void link_down(const PeerId& peer, TimePoint now);
  // `from` has a link, and has proved to be a member. Keeps `body` until it is mixed.
  void receive(const PeerId& from, std::uint8_t type, ByteSpan head, SharedBytes body,
               TimePoint now);
  void tick(TimePoint now);
  // When tick() is to be called at the latest.
  std::optional<TimePoint> next_deadline() const;
  // What the calls so far ask for, in this order.
  std::vector<GossipAction> take_actions();

  // --- Rounds.
  GossipPhase phase() const { return phase_; }
  // The round that is open, or else the next.
  Round round() const { return round_; }
  // The parameters that a newcomer has fetched, once; to be adopted before begin(). Empty for the
  // others.
  std::optional<ReceivedVector> take_fetched();
  // `parameters`: f32, `elements` of them, not to change while any object holds them. REQUIRES:
  // phase() == kIdle. Fails: kInvalidArgument for a value that is not finite.
  Status begin(SharedBytes parameters, TimePoint now);
  // The own part of the round is done. REQUIRES: kOpen.
  void await(TimePoint now);
  bool awaited() const { return deadline_.has_value() || deadline_passed_; }
  // REQUIRES: kOpen.
  bool ready() const;
  // REQUIRES: kOpen; `mixed` of `elements`. Neighbours that have not answered count as missing.
  GossipMix finish(std::span<float> mixed, TimePoint now);
  // The parameters that others get when they ask from now on, after the last round.
  void publish(SharedBytes parameters) { latest_ = std::move(parameters); }
  // After the last round: whether the members that were mixed in it, or in the rounds of its
  // period, have finished it, too, or have no link any more. Until then a link that ends may lose
  // vectors that they wait for.
  bool parted() const;
  // Announces to all that this member has left, unless it has finished the last round.
  void leave(TimePoint now);

  const AddressBook& book() const { return book_; }
  const PeerId& self() const { return self_; }
  const GossipCounts& counts() const { return counts_; }
  // Parameter vectors of others that are kept now.
  std::size_t vectors_held() const { return inbox_.vectors(); }
  // Members that count as there, this one included.
  std::size_t members() const { return book_.live(round_).size(); }
  // Those among them that this one does not presume gone.
  std::size_t members_undoubted() const;
  // The members exchanged with in the open or else the last round, as far as their links held.
  const std::set<PeerId>& neighbours() const { return sent_to_; }

  // Hash of the whole state except times.
  Hash128 fingerprint() const;
  // Hash of all events and actions so far, in order, with their times.
  const Hash128& event_hash() const { return event_hash_; }

 private:
  struct Link {
    std::uint64_t sent_version = 0;  // version of the book that it has
    Round newest;                    // of its vectors, complete or not
    Round absent;                    // it sends none for rounds up to this
    Round asked_for;                 // the last round in which its topology had the edge
    TimePoint used;                  // when it was last a neighbour, or asked for parameters
    Round passed_over;               // a vector of this round came on an earlier link already
    std::optional<Round> answered;   // the round of the parameters it was given as a newcomer
    Round waited_from;               // it missed deadlines: no wait for it in earlier rounds
    int missed = 0;                  // deadlines in a row
  };

  void note_event(std::uint8_t kind, const PeerId& peer, ByteSpan bytes, TimePoint now);
  void act(GossipAction action);
  void send(const PeerId& to, Lane lane, std::uint8_t type, Bytes head, SharedBytes body = {});
  void refuse(const PeerId& from, const Status& why, TimePoint now);

  // gossip_book.cpp: members and links.
  void publish_standing(bool left, TimePoint now);
  void renew_presence(TimePoint now);
  void take_own(const MemberRecord& record, TimePoint now);
  void announce_book(TimePoint now);
  void send_book(const PeerId& peer, Link& link);
  void refresh_topology(TimePoint now);
  void dial_due(TimePoint now);
  void end_idle_links(TimePoint now);

  // Rounds.
  void part();
  bool asks_for(const Link& link) const;
  void choose_neighbours(TimePoint now);
  void announce_absence(Round before);

  // gossip_frames.cpp
  Status on_book(const PeerId& from, ByteSpan head, TimePoint now);
  Status on_parameters(const PeerId& from, Link& link, ByteSpan head, SharedBytes body,
                       TimePoint now);
  Status on_absent(const PeerId& from, Link& link, ByteSpan head, TimePoint now);
  Status on_request(const PeerId& from, ByteSpan head, TimePoint now);
  Status take_newcomer_piece(const PeerId& from, const GossipParametersHead& head, SharedBytes body,
                             TimePoint now);
  void send_parameters(const PeerId& to, const GossipParametersHead& head);

  // gossip_rounds.cpp
  void ask_for_parameters(TimePoint now);
  void start_if_gathered(TimePoint now);
  bool has_answered(const PeerId& peer) const;
  Round next_round() const;
  void settle_missing(TimePoint now, GossipMix& mix);
  struct Part {
    const ReceivedVector* vector;
    float weight;
  };
  std::vector<Part> parts_to_mix() const;
  void keep_nearest(std::vector<Part>& parts) const;

  const GossipOptions options_;
  const PeerId self_;
  AddressBook book_;
  DialPlan dials_;
  Inbox inbox_;
  std::map<PeerId, Link> links_;
  Neighbourhood topology_;  // the neighbours by the own book
  bool topology_due_ = true;
  MemberRecord own_;
  bool published_ = false;

  GossipPhase phase_ = GossipPhase::kGathering;
  Round round_ = Round(1);
  std::set<PeerId> sent_to_;
  std::vector<PeerId> mixed_last_;  // in the last round, and in others of its period
  std::size_t degree_ = 0;          // as it was sent to the neighbours of the open round
  SharedBytes latest_;
  Round latest_round_;
  std::optional<TimePoint> deadline_;  // of the open round, once await() was called
  bool deadline_passed_ = false;

  PeerId asked_{};  // for parameters
  std::uint64_t attempts_ = 0;
  std::set<PeerId> asked_before_;
  TimePoint fetch_until_{};
  std::optional<ReceivedVector> fetched_;
  TimePoint start_until_{};
  // Others have begun: the first round waits no longer than this for what is missing.
  std::optional<TimePoint> begin_by_{};
  std::optional<TimePoint> announce_at_;

  GossipCounts counts_;
  std::vector<GossipAction> actions_;
  Hash128 event_hash_{};
  OwnerThread owner_;
};

}  // namespace weft
