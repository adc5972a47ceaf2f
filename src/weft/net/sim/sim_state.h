// The state of SimNetwork: machines, links and the event queue. For sim_*.cpp only.
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "weft/base/check.h"
#include "weft/base/status.h"
#include "weft/net/sim_network.h"

namespace weft {

using SimPair = std::pair<std::uint32_t, std::uint32_t>;

// One end of a link; frames arrive and leave in kUp only.
enum class SimEnd : std::uint8_t { kNotYet, kUp, kClosing, kDown };

// A frame that has not left yet (links of limited rate only).
struct SimQueued {
  TimePoint starts;
  std::size_t bytes = 0;
  bool cancelled = false;
};

struct SimDirection {
  TimePoint busy_until{};
  std::array<TimePoint, 2> last_arrival{};
  std::array<std::size_t, 2> queued{};
  std::deque<std::shared_ptr<SimQueued>> bulk;
  // Frames that have left, by lane, and how many of them would have arrived if nothing were
  // blocked.
  std::array<std::deque<std::shared_ptr<const Frame>>, 2> on_way;
  std::array<std::size_t, 2> held{};
  // The memory that the receiver has lent for the body of the first bulk frame on its way, of which
  // a part may have arrived; null if it was not asked yet.
  std::optional<MutableByteSpan> lent;
};

// ends[0] dialled; direction i carries the frames that ends[i] sends.
struct SimLink {
  std::array<std::uint32_t, 2> ends{};
  std::array<SimEnd, 2> state{SimEnd::kNotYet, SimEnd::kNotYet};
  std::array<SimDirection, 2> direction;
  std::array<TransportStats, 2> stats;
  // Each end's trust in the other, and what it has received from a stranger.
  std::array<LinkTrust, 2> trust{LinkTrust::kStranger, LinkTrust::kStranger};
  std::array<std::uint64_t, 2> frames_of_stranger{};
  std::array<std::uint64_t, 2> bytes_of_stranger{};
  std::array<std::uint8_t, 32> exporter{};
  LinkPath path = LinkPath::kDirect;
  // The peer that introduced or relays; kNobody on the direct path.
  std::uint32_t via = kNobody;

  static constexpr std::uint32_t kNobody = UINT32_MAX;
  int end_of(std::uint32_t machine) const { return ends[0] == machine ? 0 : 1; }
};

// When an event is due, and its turn among those that are due then.
struct SimTurn {
  TimePoint when;
  std::uint64_t order = 0;

  friend auto operator<=>(const SimTurn&, const SimTurn&) = default;
};

struct SimMachine {
  PeerId id;
  std::unique_ptr<SimTransport> transport;
  TransportHandler* handler = nullptr;
  bool running = false;
  bool paused = false;
  SimCrash stopped_by = SimCrash::kKilled;
  // Counts starts; events of an earlier life are dropped.
  std::uint64_t life = 0;
  double slowness = 1;
  SimNat nat = SimNat::kNone;
  // The bytes a second of its network connection each way, 0: unlimited; and until when frames
  // occupy it.
  std::uint64_t line = 0;
  TimePoint sends_until;
  TimePoint receives_until;
  std::set<std::uint32_t> dialing;
  std::vector<std::function<void()>> held;
  std::function<void()> alarm_body;
  std::uint64_t alarm_generation = 0;
  // The alarm as it is set now, and the event in the queue that comes no later. That event makes
  // way for the alarm if it comes before it, so that an alarm put off time and again has one event.
  std::optional<SimTurn> alarm;
  std::optional<SimTurn> alarm_event;
  TransportStats total;
};

struct SimEvent {
  SimTurn turn;
  std::function<void()> body;
  // The machine that it belongs to, in this life of it, if any: the event is dropped if the machine
  // has crashed by then, and kept while it is paused.
  std::uint32_t machine = SimLink::kNobody;
  std::uint64_t life = 0;
};

class SimClock final : public Clock {
 public:
  explicit SimClock(std::int64_t unix_time_s) : unix_time_s_(unix_time_s) {}
  TimePoint now() const override { return now_; }
  std::int64_t unix_time_s() const override {
    return unix_time_s_ + static_cast<std::int64_t>(to_seconds(now_.time_since_epoch()));
  }
  void set(TimePoint now) { now_ = now; }

 private:
  std::int64_t unix_time_s_;
  TimePoint now_{};
};

struct SimNetwork::Impl {
  explicit Impl(const SimNetworkOptions& given)
      : options(given), rng(given.seed, 0x51), clock(given.unix_time_s) {}

  // --- Events (sim_network.cpp).
  void at(TimePoint when, std::function<void()> body);
  // Schedules an event of this life of a machine: see SimEvent.
  void at_machine(std::uint32_t index, TimePoint when, std::function<void()> body);
  SimTurn next_turn(TimePoint when) { return {std::max(when, now()), next_order++}; }
  void push(SimEvent event);
  void set_alarm(std::uint32_t index, TimePoint when);
  void schedule_alarm(std::uint32_t index);
  void on_alarm(std::uint32_t index, const SimTurn& turn);
  void trace(std::uint64_t what, std::uint64_t a, std::uint64_t b, std::uint64_t c);
  Duration delay(std::uint32_t from, std::uint32_t to);
  TimePoint now() const { return clock.now(); }
  std::uint32_t index_of(const PeerId& id) const;
  bool blocked(std::uint32_t from, std::uint32_t to) const { return blocks.contains({from, to}); }

  // --- Links (sim_link.cpp).
  void connect(std::uint32_t from, const PeerAddress& peer);
  void dial(std::uint32_t from, const PeerAddress& peer, std::size_t endpoint);
  void arrive_dial(std::uint32_t from, const PeerAddress& peer, std::size_t endpoint);
  // Fails all dials that are under way to this machine.
  void fail_dials(std::uint32_t to);
  void dial_failed(std::uint32_t from, const PeerAddress& peer, std::size_t endpoint, Status why,
                   TimePoint when);
  // Dials through the routers of either side: introduces the two, or relays.
  void reach(std::uint32_t from, const PeerAddress& peer, std::size_t endpoint);
  std::uint32_t helper_of(std::uint32_t a, std::uint32_t b) const;
  void link_up(std::uint32_t from, std::uint32_t to, LinkPath path, std::uint32_t via);
  // The link between the two if `machine`'s end of it is up; null otherwise.
  std::shared_ptr<SimLink> up_link(std::uint32_t machine, const PeerId& peer) const;
  std::shared_ptr<SimLink> current(std::uint32_t a, std::uint32_t b) const;
  void take_down(const std::shared_ptr<SimLink>& link, int end, const Status& why, TimePoint when);
  void break_both(const std::shared_ptr<SimLink>& link, const Status& why, bool at_once);
  Status send(std::uint32_t from, const PeerId& to, Lane lane, Frame frame);
  // Returns when the frame has left; keeps account of the queue.
  TimePoint enqueue(const std::shared_ptr<SimLink>& link, int end, Lane lane, std::size_t bytes,
                    const std::shared_ptr<SimQueued>& entry);
  void arrive(const std::shared_ptr<SimLink>& link, int from_end, Lane lane);
  void hand_over(const std::shared_ptr<SimLink>& link, int from_end, Lane lane);
  MutableByteSpan place_for(const SimLink& link, int from_end, const Frame& frame);
  void schedule_arrival(const std::shared_ptr<SimLink>& link, int from_end, Lane lane,
                        TimePoint when);
  void close(std::uint32_t machine, const PeerId& peer, const Status& why);
  void set_trust(std::uint32_t machine, const PeerId& peer, LinkTrust trust);
  // Why the frame may not come from a stranger, which ends the link; counts the frame otherwise.
  Status refuse_of_stranger(SimLink& link, std::size_t end, const Frame& frame);
  void cancel_bulk(std::uint32_t machine, const PeerId& to);
  std::uint64_t rate_of(std::uint32_t from, std::uint32_t to) const {
    const auto found = rates.find({from, to});
    return found == rates.end() ? options.bytes_per_second : found->second;
  }
  // When the network connections of both machines have passed on a frame that begins at `starts`.
  TimePoint through_links(std::uint32_t from, std::uint32_t to, std::size_t bytes,
                          TimePoint starts);
  void set_blocked(std::uint32_t from, std::uint32_t to, bool value);
  void block_direction(const std::shared_ptr<SimLink>& link, int from_end, const SimPair& leg,
                       std::uint64_t number);
  void release_held(const std::shared_ptr<SimLink>& link, int from_end);
  // True if frames of that direction are blocked, on a leg of it or all the way.
  bool held_up(const SimLink& link, int from_end) const;
  Duration link_delay(const SimLink& link, int from_end);
  // Calls body(link, end) for each direction that passes from one machine to the other.
  void for_directions(std::uint32_t from, std::uint32_t to,
                      const std::function<void(const std::shared_ptr<SimLink>&, int)>& body);

  SimNetworkOptions options;
  Rng rng;
  SimClock clock;
  std::vector<SimEvent> queue;  // a heap: the earliest first
  std::uint64_t next_order = 0;
  std::uint64_t hash = 0;
  std::uint64_t events = 0;
  std::deque<SimMachine> machines;
  std::map<PeerId, std::uint32_t> indexes;
  // Transports of crashed machines: their owners may still hold them.
  std::vector<std::unique_ptr<SimTransport>> graveyard;
  std::map<SimPair, std::shared_ptr<SimLink>> links;  // key: the lower index first
  // Blocked directions, each with the number of the block() that made it.
  std::map<SimPair, std::uint64_t> blocks;
  std::uint64_t next_block = 0;
  // Directions whose rate differs from that of the options.
  std::map<SimPair, std::uint64_t> rates;
  // True once there has been a relayed link.
  bool any_relayed = false;
};

}  // namespace weft
