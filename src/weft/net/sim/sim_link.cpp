#include "weft/net/sim/sim_state.h"
#include "weft/wire/frame_type.h"

namespace weft {

// What a frame costs beside its head and body.
static constexpr std::size_t kFrameOverhead = 16;
static constexpr std::size_t kQueueBytesMax = std::size_t{64} << 20;

static SimPair pair_of(std::uint32_t a, std::uint32_t b) { return std::minmax(a, b); }

static Duration time_for(std::size_t bytes, std::uint64_t rate) {
  if (rate == 0) return {};
  return from_seconds(static_cast<double>(bytes) / static_cast<double>(rate));
}

// --- Dialling.

void SimNetwork::Impl::connect(std::uint32_t from, const PeerAddress& peer) {
  SimMachine& machine = machines[from];
  const auto known = indexes.find(peer.id);
  const std::uint32_t to = known == indexes.end() ? UINT32_MAX : known->second;
  if (up_link(from, peer.id) || machine.dialing.contains(to)) return;
  if (to != UINT32_MAX) machine.dialing.insert(to);
  dial(from, peer, 0);
}

void SimNetwork::Impl::dial(std::uint32_t from, const PeerAddress& peer, std::size_t endpoint) {
  if (endpoint >= peer.endpoints.size()) {
    const auto known = indexes.find(peer.id);
    if (known != indexes.end()) machines[from].dialing.erase(known->second);
    at_machine(from, now(), [this, from, id = peer.id] {
      const Status why = unavailable("connect: no endpoint of " + id.short_name() + " answers");
      machines[from].handler->on_link_down(id, why);
    });
    return;
  }
  const TimePoint when = now() + delay(from, from);
  at_machine(from, when, [=, this] { arrive_dial(from, peer, endpoint); });
}

void SimNetwork::Impl::arrive_dial(std::uint32_t from, const PeerAddress& peer,
                                   std::size_t endpoint) {
  const auto known = indexes.find(peer.id);
  const std::string name = known == indexes.end() ? "" : "sim:" + std::to_string(known->second);
  if (name != peer.endpoints[endpoint]) {
    return dial_failed(from, peer, endpoint, unavailable("connect: refused"), now());
  }
  const std::uint32_t to = known->second;
  if (!machines[from].dialing.contains(to)) return;  // closed, or linked from the other side
  const SimMachine& target = machines[to];
  const bool silent = blocked(from, to) || blocked(to, from) ||
                      (!target.running && target.stopped_by == SimCrash::kPowerLoss);
  if (silent) {
    return dial_failed(from, peer, endpoint, timed_out("connect: no answer"),
                       now() + options.connect_timeout);
  }
  if (!target.running) {
    return dial_failed(from, peer, endpoint, unavailable("connect: refused, nobody listens"),
                       now());
  }
  if (target.nat != SimNat::kNone) return reach(from, peer, endpoint);
  at_machine(to, now(), [=, this] { link_up(from, to, LinkPath::kDirect, SimLink::kNobody); });
}

std::uint32_t SimNetwork::Impl::helper_of(std::uint32_t a, std::uint32_t b) const {
  for (std::uint32_t third = 0; third < machines.size(); ++third) {
    if (third == a || third == b || !machines[third].running || machines[third].paused) continue;
    const auto helps = [&](std::uint32_t end) {
      const auto link = up_link(end, machines[third].id);
      if (link == nullptr || !up_link(third, machines[end].id)) return false;
      const bool proved =
          link->trust[0] == LinkTrust::kProved && link->trust[1] == LinkTrust::kProved;
      return proved && link->path != LinkPath::kRelayed && !blocked(end, third) &&
             !blocked(third, end);
    };
    if (helps(a) && helps(b)) return third;
  }
  return SimLink::kNobody;
}

void SimNetwork::Impl::reach(std::uint32_t from, const PeerAddress& peer, std::size_t endpoint) {
  const std::uint32_t to = index_of(peer.id);
  const std::uint32_t via = helper_of(from, to);
  if (via == SimLink::kNobody) {
    return dial_failed(from, peer, endpoint, timed_out("connect: no answer, and nobody helps"),
                       now() + options.connect_timeout);
  }
  // Who is open itself is dialled by the other; otherwise both routers must play along.
  const SimNat own = machines[from].nat;
  const bool punched =
      own == SimNat::kNone || (own == SimNat::kCone && machines[to].nat == SimNat::kCone);
  const TimePoint introduced = now() + delay(from, via) + delay(via, to);
  const LinkPath path = punched ? LinkPath::kPunched : LinkPath::kRelayed;
  at(introduced, [=, this] {
    if (machines[to].running && (punched || machines[via].running)) {
      return at_machine(to, now(), [=, this] { link_up(from, to, path, via); });
    }
    at_machine(from, now() + options.connect_timeout, [this, from, to] {
      if (machines[from].dialing.erase(to) == 0) return;
      machines[from].handler->on_link_down(machines[to].id, timed_out("connect: no answer"));
    });
  });
}

void SimNetwork::Impl::dial_failed(std::uint32_t from, const PeerAddress& peer,
                                   std::size_t endpoint, Status why, TimePoint when) {
  const auto known = indexes.find(peer.id);
  const bool last = endpoint + 1 == peer.endpoints.size();
  at_machine(from, when, [=, this, why = std::move(why)] {
    if (!last) return dial(from, peer, endpoint + 1);
    if (known != indexes.end() && machines[from].dialing.erase(known->second) == 0) return;
    machines[from].handler->on_link_down(peer.id, why);
  });
}

void SimNetwork::Impl::fail_dials(std::uint32_t to) {
  for (std::uint32_t from = 0; from < machines.size(); ++from) {
    if (!machines[from].dialing.contains(to)) continue;
    at_machine(from, now() + options.connect_timeout, [this, from, to] {
      if (machines[from].dialing.erase(to) == 0) return;
      machines[from].handler->on_link_down(machines[to].id, timed_out("connect: no answer"));
    });
  }
}

// Runs at the machine that was dialled.
void SimNetwork::Impl::link_up(std::uint32_t from, std::uint32_t to, LinkPath path,
                               std::uint32_t via) {
  if (!machines[from].running || !machines[from].dialing.contains(to)) return;
  if (const auto old = current(from, to)) {
    const int here = old->end_of(to);
    const SimEnd there = old->state[static_cast<std::size_t>(1 - here)];
    const bool alive = old->state[static_cast<std::size_t>(here)] == SimEnd::kUp;
    if (alive && (there == SimEnd::kUp || there == SimEnd::kNotYet)) return;
    if (alive) take_down(old, here, unavailable("the peer has connected anew"), now());
  }
  auto link = std::make_shared<SimLink>();
  link->ends = {from, to};
  link->path = path;
  link->via = via;
  any_relayed |= path == LinkPath::kRelayed;
  for (auto& byte : link->exporter) byte = static_cast<std::uint8_t>(rng.below(256));
  links[pair_of(from, to)] = link;
  machines[to].dialing.erase(from);
  const TimePoint answer = now() + link_delay(*link, 1);
  link->direction[1].last_arrival = {answer, answer};
  const auto announce = [this, link](std::size_t end) {
    if (link->state[end] != SimEnd::kNotYet || current(link->ends[0], link->ends[1]) != link)
      return;
    link->state[end] = SimEnd::kUp;
    SimMachine& machine = machines[link->ends[end]];
    const std::uint32_t other = link->ends[1 - end];
    machine.dialing.erase(other);
    trace(1, link->ends[end], other, 0);
    LinkInfo info;
    info.peer = machines[other].id;
    info.inbound = end == 1;
    info.exporter = link->exporter;
    info.remote_endpoint = "sim:" + std::to_string(other);
    info.path = link->path;
    if (link->via != SimLink::kNobody) info.via = machines[link->via].id.short_name();
    info.origin = info.remote_endpoint;
    link->trust[end] = machine.handler->first_trust(info);
    machine.handler->on_link_up(info);
  };
  // After the old link's end has been told.
  at_machine(to, now(), [announce] { announce(1); });
  at_machine(from, answer, [announce] { announce(0); });
}

// --- Ends of links.

std::shared_ptr<SimLink> SimNetwork::Impl::current(std::uint32_t a, std::uint32_t b) const {
  const auto found = links.find(pair_of(a, b));
  return found == links.end() ? nullptr : found->second;
}

std::shared_ptr<SimLink> SimNetwork::Impl::up_link(std::uint32_t machine,
                                                   const PeerId& peer) const {
  const auto other = indexes.find(peer);
  if (other == indexes.end()) return nullptr;
  auto link = current(machine, other->second);
  const bool up =
      link && link->state[static_cast<std::size_t>(link->end_of(machine))] == SimEnd::kUp;
  return up ? link : nullptr;
}

void SimNetwork::Impl::take_down(const std::shared_ptr<SimLink>& link, int end, const Status& why,
                                 TimePoint when) {
  const auto e = static_cast<std::size_t>(end);
  at_machine(link->ends[e], when, [this, link, e, why] {
    const SimEnd before = std::exchange(link->state[e], SimEnd::kDown);
    if (before != SimEnd::kUp && before != SimEnd::kClosing) {
      // Never told of the link: the dial has failed.
      if (before == SimEnd::kDown ||
          machines[link->ends[e]].dialing.erase(link->ends[1 - e]) == 0) {
        return;
      }
    }
    trace(2, link->ends[e], link->ends[1 - e], static_cast<std::uint64_t>(why.code()));
    machines[link->ends[e]].handler->on_link_down(machines[link->ends[1 - e]].id, why);
  });
}

void SimNetwork::Impl::break_both(const std::shared_ptr<SimLink>& link, const Status& why,
                                  bool at_once) {
  for (int end = 0; end < 2; ++end) {
    const auto e = static_cast<std::size_t>(end);
    const Duration wait = at_once ? Duration() : delay(link->ends[1 - e], link->ends[e]);
    take_down(link, end, why, now() + wait);
  }
}

void SimNetwork::Impl::close(std::uint32_t machine, const PeerId& peer, const Status& why) {
  const auto other = indexes.find(peer);
  if (other == indexes.end()) return;
  const auto link = up_link(machine, peer);
  if (!link) {
    if (machines[machine].dialing.erase(other->second) == 0) return;
    at_machine(machine, now(),
               [this, machine, peer, why] { machines[machine].handler->on_link_down(peer, why); });
    return;
  }
  const int end = link->end_of(machine);
  const auto e = static_cast<std::size_t>(end);
  link->state[e] = SimEnd::kClosing;
  take_down(link, end, why, now());
  const std::uint32_t to = other->second;
  const Duration wait = blocked(machine, to) ? options.break_after : delay(machine, to);
  const TimePoint seen = std::max(now() + wait, link->direction[e].last_arrival[0]);
  take_down(link, 1 - end, unavailable("closed by the peer: " + why.message()), seen);
}

void SimNetwork::Impl::set_trust(std::uint32_t machine, const PeerId& peer, LinkTrust trust) {
  const auto link = up_link(machine, peer);
  if (!link) return;
  const auto end = static_cast<std::size_t>(link->end_of(machine));
  if (link->trust[end] == trust) return;
  link->trust[end] = trust;
  link->frames_of_stranger[end] = link->bytes_of_stranger[end] = 0;
}

Status SimNetwork::Impl::refuse_of_stranger(SimLink& link, std::size_t end, const Frame& frame) {
  if (link.trust[end] != LinkTrust::kStranger) return {};
  if (frame.head.size() > kStrangerHeadBytesMax || !frame.body.empty()) {
    return corrupt("frame: more than a stranger may send at once");
  }
  link.bytes_of_stranger[end] += kFrameOverhead + frame.head.size();
  const bool many = ++link.frames_of_stranger[end] > kStrangerFramesMax ||
                    link.bytes_of_stranger[end] > kStrangerBytesMax;
  return many ? unavailable("more frames than a stranger may send") : Status();
}

// --- Frames.

Status SimNetwork::Impl::send(std::uint32_t from, const PeerId& to, Lane lane, Frame frame) {
  if (frame.type <= frame_type::kLastLinkType || frame.head.size() > kFrameHeadBytesMax ||
      frame.body.size() > kFrameBodyBytesMax) {
    return invalid_argument("frame of type " + std::to_string(frame.type) + ": out of bounds");
  }
  const auto link = up_link(from, to);
  if (!link) return unavailable("send: no link to " + to.short_name());
  const int end = link->end_of(from);
  const auto e = static_cast<std::size_t>(end);
  const std::size_t bytes = kFrameOverhead + frame.head.size() + frame.body.size();
  if (lane == Lane::kBulk && link->direction[e].queued[lane_index(lane)] + bytes > kQueueBytesMax) {
    return unavailable("send: the bulk queue to " + to.short_name() + " is full");
  }
  auto entry = std::make_shared<SimQueued>();
  const TimePoint left = enqueue(link, end, lane, bytes, entry);
  const TimePoint arrives = left + link_delay(*link, end);
  auto sent = std::make_shared<const Frame>(std::move(frame));
  if (left == now()) {
    link->stats[e].bytes_sent += bytes;
    machines[from].total.bytes_sent += bytes;
    link->direction[e].on_way[lane_index(lane)].push_back(std::move(sent));
    schedule_arrival(link, end, lane, arrives);
    return {};
  }
  at_machine(from, left, [=, this] {
    if (entry->cancelled || link->state[e] != SimEnd::kUp) return;
    link->stats[e].bytes_sent += bytes;
    machines[from].total.bytes_sent += bytes;
    SimDirection& direction = link->direction[e];
    if (lane == Lane::kBulk) direction.bulk.pop_front();
    const std::size_t before = direction.queued[lane_index(lane)];
    direction.queued[lane_index(lane)] = before - bytes;
    direction.on_way[lane_index(lane)].push_back(sent);
    schedule_arrival(link, end, lane, arrives);
    const bool fell = before > options.low_water_bytes && before - bytes <= options.low_water_bytes;
    if (fell) machines[from].handler->on_writable(to, lane);
  });
  return {};
}

TimePoint SimNetwork::Impl::enqueue(const std::shared_ptr<SimLink>& link, int end, Lane lane,
                                    std::size_t bytes, const std::shared_ptr<SimQueued>& entry) {
  const auto e = static_cast<std::size_t>(end);
  const std::uint64_t rate = rate_of(link->ends[e], link->ends[1 - e]);
  const bool lines = machines[link->ends[e]].line != 0 || machines[link->ends[1 - e]].line != 0;
  if (rate == 0 && !lines) return now();
  SimDirection& direction = link->direction[e];
  const Duration takes = time_for(bytes, rate);
  direction.queued[lane_index(lane)] += bytes;
  entry->bytes = bytes;
  // Control frames have a line of their own: they never wait behind bulk frames.
  entry->starts = lane == Lane::kBulk ? std::max(now(), direction.busy_until) : now();
  if (lane == Lane::kControl) return entry->starts + std::max(takes, Duration(1));
  const TimePoint through =
      lines ? through_links(link->ends[e], link->ends[1 - e], bytes, entry->starts) : TimePoint();
  direction.busy_until = std::max(entry->starts + std::max(takes, Duration(1)), through);
  direction.bulk.push_back(entry);
  return direction.busy_until;
}

TimePoint SimNetwork::Impl::through_links(std::uint32_t from, std::uint32_t to, std::size_t bytes,
                                          TimePoint starts) {
  const auto pass = [&](std::uint64_t line, TimePoint& until) {
    if (line == 0) return starts;
    until = std::max(until, starts) + time_for(bytes, line);
    return until;
  };
  const TimePoint sent = pass(machines[from].line, machines[from].sends_until);
  return std::max(sent, pass(machines[to].line, machines[to].receives_until));
}

void SimNetwork::Impl::cancel_bulk(std::uint32_t machine, const PeerId& to) {
  const auto link = up_link(machine, to);
  if (!link) return;
  SimDirection& direction = link->direction[static_cast<std::size_t>(link->end_of(machine))];
  while (!direction.bulk.empty() && direction.bulk.back()->starts > now()) {
    direction.bulk.back()->cancelled = true;
    direction.queued[lane_index(Lane::kBulk)] -= direction.bulk.back()->bytes;
    direction.busy_until = direction.bulk.back()->starts;
    direction.bulk.pop_back();
  }
}

// The first frame of that lane that is on its way will be there.
void SimNetwork::Impl::schedule_arrival(const std::shared_ptr<SimLink>& link, int from_end,
                                        Lane lane, TimePoint when) {
  const auto e = static_cast<std::size_t>(from_end);
  TimePoint& last = link->direction[e].last_arrival[lane_index(lane)];
  last = std::max(last, when);
  at_machine(link->ends[1 - e], last, [=, this] { arrive(link, from_end, lane); });
}

void SimNetwork::Impl::arrive(const std::shared_ptr<SimLink>& link, int from_end, Lane lane) {
  const auto e = static_cast<std::size_t>(from_end);
  if (link->state[1 - e] != SimEnd::kUp) return;
  if (held_up(*link, from_end)) {
    ++link->direction[e].held[lane_index(lane)];
    return;
  }
  hand_over(link, from_end, lane);
}

MutableByteSpan SimNetwork::Impl::place_for(const SimLink& link, int from_end, const Frame& frame) {
  const auto e = static_cast<std::size_t>(from_end);
  const std::size_t bytes = frame.body.size();
  if (bytes == 0) return {};
  const MutableByteSpan place = machines[link.ends[1 - e]].handler->body_destination(
      machines[link.ends[e]].id, frame.type, frame.head, bytes);
  WEFT_CHECK(place.empty() || place.size() == bytes);
  return place;
}

void SimNetwork::Impl::hand_over(const std::shared_ptr<SimLink>& link, int from_end, Lane lane) {
  const auto e = static_cast<std::size_t>(from_end);
  const std::uint32_t to = link->ends[1 - e];
  SimMachine& machine = machines[to];
  SimDirection& direction = link->direction[e];
  std::deque<std::shared_ptr<const Frame>>& on_way = direction.on_way[lane_index(lane)];
  const std::shared_ptr<const Frame> frame = on_way.front();
  on_way.pop_front();
  const std::size_t bytes = kFrameOverhead + frame->head.size() + frame->body.size();
  link->stats[1 - e].bytes_received += bytes;
  machine.total.bytes_received += bytes;
  trace(3, link->ends[e], to, (bytes << 8U) | frame->type);
  if (const Status refused = refuse_of_stranger(*link, 1 - e, *frame); !refused.ok()) {
    direction.lent.reset();
    link->state[1 - e] = SimEnd::kClosing;
    take_down(link, static_cast<int>(1 - e), refused, now());
    take_down(link, from_end, unavailable("closed by the peer: " + refused.message()),
              now() + delay(to, link->ends[e]));
    return;
  }
  ByteSpan body = frame->body.span();
  if (lane == Lane::kBulk) {
    const MutableByteSpan place =
        direction.lent ? *direction.lent : place_for(*link, from_end, *frame);
    direction.lent.reset();
    std::copy_n(body.begin(), place.size(), place.begin());
    if (!place.empty()) body = place;
  }
  machine.handler->on_frame(machines[link->ends[e]].id, lane, {frame->type, frame->head, body});
  // With the end of one frame comes the beginning of the next, which may take its time.
  const bool goes_on = lane == Lane::kBulk && !on_way.empty() && !direction.lent;
  if (!goes_on || link->state[1 - e] != SimEnd::kUp) return;
  if (link->trust[1 - e] == LinkTrust::kStranger) return;
  direction.lent = place_for(*link, from_end, *on_way.front());
}

bool SimNetwork::Impl::held_up(const SimLink& link, int from_end) const {
  const std::uint32_t from = link.ends[static_cast<std::size_t>(from_end)];
  const std::uint32_t to = link.ends[static_cast<std::size_t>(1 - from_end)];
  if (link.path != LinkPath::kRelayed) return blocked(from, to);
  return blocked(from, link.via) || blocked(link.via, to);
}

Duration SimNetwork::Impl::link_delay(const SimLink& link, int from_end) {
  const std::uint32_t from = link.ends[static_cast<std::size_t>(from_end)];
  const std::uint32_t to = link.ends[static_cast<std::size_t>(1 - from_end)];
  if (link.path != LinkPath::kRelayed) return delay(from, to);
  return delay(from, link.via) + delay(link.via, to);
}

void SimNetwork::Impl::for_directions(
    std::uint32_t from, std::uint32_t to,
    const std::function<void(const std::shared_ptr<SimLink>&, int)>& body) {
  const auto direct = current(from, to);
  if (direct && direct->path != LinkPath::kRelayed) body(direct, direct->end_of(from));
  if (!any_relayed) return;
  const std::map<SimPair, std::shared_ptr<SimLink>> all = links;
  for (const auto& [pair, link] : all) {
    if (link->path != LinkPath::kRelayed) continue;
    for (const int end : {0, 1}) {
      const std::uint32_t source = link->ends[static_cast<std::size_t>(end)];
      const std::uint32_t target = link->ends[static_cast<std::size_t>(1 - end)];
      const bool passes =
          (source == from && link->via == to) || (link->via == from && target == to);
      if (passes) body(link, end);
    }
  }
}

void SimNetwork::Impl::block_direction(const std::shared_ptr<SimLink>& link, int from_end,
                                       const SimPair& leg, std::uint64_t number) {
  at(now() + options.break_after, [=, this] {
    const auto found = blocks.find(leg);
    if (found == blocks.end() || found->second != number) return;
    if (current(link->ends[0], link->ends[1]) != link || !held_up(*link, from_end)) return;
    break_both(link, timed_out("no answer from the peer's system"), true);
  });
}

void SimNetwork::Impl::release_held(const std::shared_ptr<SimLink>& link, int from_end) {
  if (held_up(*link, from_end)) return;
  SimDirection& direction = link->direction[static_cast<std::size_t>(from_end)];
  for (const Lane lane : {Lane::kControl, Lane::kBulk}) {
    for (std::size_t left = std::exchange(direction.held[lane_index(lane)], 0); left > 0; --left) {
      schedule_arrival(link, from_end, lane, now() + link_delay(*link, from_end));
    }
  }
}

void SimNetwork::Impl::set_blocked(std::uint32_t from, std::uint32_t to, bool value) {
  if (value) {
    const std::uint64_t number = ++next_block;
    if (!blocks.try_emplace({from, to}, number).second) return;
    for_directions(from, to, [&](const std::shared_ptr<SimLink>& link, int end) {
      block_direction(link, end, {from, to}, number);
    });
    return;
  }
  if (blocks.erase({from, to}) == 0) return;
  for_directions(from, to,
                 [&](const std::shared_ptr<SimLink>& link, int end) { release_held(link, end); });
}

}  // namespace weft
