#include "weft/net/sim_network.h"

#include <cmath>

#include "weft/net/sim/sim_state.h"

namespace weft {

static constexpr double kDelayMeansMax = 20;

static bool later(const SimEvent& a, const SimEvent& b) { return a.turn > b.turn; }

// --- Events.

void SimNetwork::Impl::push(SimEvent event) {
  queue.push_back(std::move(event));
  std::push_heap(queue.begin(), queue.end(), later);
}

void SimNetwork::Impl::at(TimePoint when, std::function<void()> body) {
  push({next_turn(when), std::move(body)});
}

void SimNetwork::Impl::at_machine(std::uint32_t index, TimePoint when, std::function<void()> body) {
  push({next_turn(when), std::move(body), index, machines[index].life});
}

// --- Alarms.

void SimNetwork::Impl::set_alarm(std::uint32_t index, TimePoint when) {
  SimMachine& machine = machines[index];
  ++machine.alarm_generation;
  machine.alarm.reset();
  if (when == TimePoint::max() || !machine.running) return;
  machine.alarm = next_turn(when);
  if (!machine.alarm_event || *machine.alarm < *machine.alarm_event) schedule_alarm(index);
}

void SimNetwork::Impl::schedule_alarm(std::uint32_t index) {
  SimMachine& machine = machines[index];
  machine.alarm_event = machine.alarm;
  if (!machine.alarm) return;
  push({*machine.alarm, [this, index, turn = *machine.alarm] { on_alarm(index, turn); }});
}

void SimNetwork::Impl::on_alarm(std::uint32_t index, const SimTurn& turn) {
  SimMachine& machine = machines[index];
  if (machine.alarm_event != turn) return;
  if (machine.alarm != turn) return schedule_alarm(index);
  machine.alarm.reset();
  machine.alarm_event.reset();
  const auto ring = [this, index, generation = machine.alarm_generation] {
    SimMachine& due = machines[index];
    if (due.alarm_generation != generation || !due.alarm_body) return;
    trace(6, index, 0, 0);
    const std::function<void()> body = due.alarm_body;  // it may crash this machine
    body();
  };
  if (!machine.paused) return ring();
  machine.held.emplace_back(ring);
}

void SimNetwork::Impl::trace(std::uint64_t what, std::uint64_t a, std::uint64_t b,
                             std::uint64_t c) {
  const auto time = static_cast<std::uint64_t>(now().time_since_epoch().count());
  for (const std::uint64_t value : {what, a, b, c, time}) {
    hash = (hash ^ value) * 0x9E3779B97F4A7C15ULL;
    hash ^= hash >> 29U;
  }
}

Duration SimNetwork::Impl::delay(std::uint32_t from, std::uint32_t to) {
  const double rest = to_seconds(options.delay_mean - options.delay_min);
  const double drawn = -std::log(1 - rng.uniform()) * std::max(rest, 0.0);
  const double limit = kDelayMeansMax * to_seconds(options.delay_mean);
  const double slowness = std::max(machines[from].slowness, machines[to].slowness);
  return from_seconds(std::min(to_seconds(options.delay_min) + drawn, limit) * slowness);
}

std::uint32_t SimNetwork::Impl::index_of(const PeerId& id) const {
  const auto found = indexes.find(id);
  WEFT_CHECK(found != indexes.end());
  return found->second;
}

// --- Machines.

SimNetwork::SimNetwork(SimNetworkOptions options) : impl_(std::make_unique<Impl>(options)) {}
SimNetwork::~SimNetwork() = default;

SimTransport& SimNetwork::start(const PeerId& id) {
  const auto [found, fresh] =
      impl_->indexes.try_emplace(id, static_cast<std::uint32_t>(impl_->machines.size()));
  if (fresh) impl_->machines.emplace_back().id = id;
  SimMachine& machine = impl_->machines[found->second];
  WEFT_CHECK(!machine.running);
  ++machine.life;
  machine.running = true;
  machine.paused = false;
  machine.transport = std::make_unique<SimTransport>(*this, found->second, machine.life);
  impl_->trace(4, found->second, 0, 0);
  return *machine.transport;
}

void SimNetwork::crash(const PeerId& id, SimCrash how) {
  const std::uint32_t index = impl_->index_of(id);
  SimMachine& machine = impl_->machines[index];
  if (!machine.running) return;
  // Who dialled it while it stood still waits for an answer that is lost now.
  if (machine.paused) impl_->fail_dials(index);
  machine.running = false;
  machine.stopped_by = how;
  machine.handler = nullptr;
  machine.dialing.clear();
  machine.held.clear();
  machine.alarm_body = nullptr;
  machine.alarm.reset();
  ++machine.alarm_generation;
  impl_->graveyard.push_back(std::move(machine.transport));
  impl_->trace(5, index, static_cast<std::uint64_t>(how), 0);
  for (const auto& [pair, link] : impl_->links) {
    if (link->path == LinkPath::kRelayed && link->via == index) {
      for (const int end : {0, 1}) {
        const Duration wait = how == SimCrash::kPowerLoss
                                  ? impl_->options.break_after
                                  : impl_->delay(index, link->ends[static_cast<std::size_t>(end)]);
        impl_->take_down(link, end, unavailable("the relay's connection broke"),
                         impl_->now() + wait);
      }
      continue;
    }
    if (pair.first != index && pair.second != index) continue;
    const int end = link->end_of(index);
    const auto e = static_cast<std::size_t>(end);
    link->state[e] = SimEnd::kDown;
    const std::uint32_t other = link->ends[1 - e];
    const bool silent = how == SimCrash::kPowerLoss || impl_->blocked(index, other);
    const Duration wait = silent ? impl_->options.break_after : impl_->delay(index, other);
    impl_->take_down(link, 1 - end, unavailable("the connection broke"), now() + wait);
  }
}

bool SimNetwork::running(const PeerId& id) const {
  const auto found = impl_->indexes.find(id);
  return found != impl_->indexes.end() && impl_->machines[found->second].running;
}

void SimNetwork::pause(const PeerId& id) { impl_->machines[impl_->index_of(id)].paused = true; }

void SimNetwork::resume(const PeerId& id) {
  const std::uint32_t index = impl_->index_of(id);
  SimMachine& machine = impl_->machines[index];
  machine.paused = false;
  for (auto& body : std::exchange(machine.held, {})) {
    impl_->at_machine(index, now(), std::move(body));
  }
}

void SimNetwork::set_nat(const PeerId& id, SimNat nat) {
  impl_->machines[impl_->index_of(id)].nat = nat;
}

std::string SimNetwork::endpoint(const PeerId& id) const {
  return "sim:" + std::to_string(impl_->index_of(id));
}

// --- Links.

void SimNetwork::break_link(const PeerId& a, const PeerId& b) {
  const auto link = impl_->current(impl_->index_of(a), impl_->index_of(b));
  if (link) impl_->break_both(link, unavailable("the connection broke"), false);
}

void SimNetwork::block(const PeerId& from, const PeerId& to) {
  impl_->set_blocked(impl_->index_of(from), impl_->index_of(to), true);
}

void SimNetwork::unblock(const PeerId& from, const PeerId& to) {
  impl_->set_blocked(impl_->index_of(from), impl_->index_of(to), false);
}

void SimNetwork::partition(const std::vector<std::vector<PeerId>>& groups) {
  for (std::size_t i = 0; i < groups.size(); ++i) {
    for (std::size_t j = 0; j < groups.size(); ++j) {
      if (i == j) continue;
      for (const PeerId& from : groups[i]) {
        for (const PeerId& to : groups[j]) block(from, to);
      }
    }
  }
}

void SimNetwork::unblock_all() {
  const std::map<SimPair, std::uint64_t> blocks = impl_->blocks;
  for (const auto& [pair, number] : blocks) impl_->set_blocked(pair.first, pair.second, false);
}

void SimNetwork::set_slowness(const PeerId& id, double factor) {
  impl_->machines[impl_->index_of(id)].slowness = factor;
}

void SimNetwork::set_line(const PeerId& id, std::uint64_t bytes_per_second) {
  impl_->machines[impl_->index_of(id)].line = bytes_per_second;
}

void SimNetwork::set_rate(const PeerId& from, const PeerId& to, std::uint64_t bytes_per_second) {
  impl_->rates[{impl_->index_of(from), impl_->index_of(to)}] = bytes_per_second;
}

// --- Time.

const Clock& SimNetwork::clock() const { return impl_->clock; }
TimePoint SimNetwork::now() const { return impl_->now(); }

void SimNetwork::call_at(TimePoint when, std::function<void()> body) {
  impl_->at(when, std::move(body));
}

void SimNetwork::set_alarm_body(const PeerId& id, std::function<void()> body) {
  impl_->machines[impl_->index_of(id)].alarm_body = std::move(body);
}

void SimNetwork::set_alarm(const PeerId& id, TimePoint when) {
  impl_->set_alarm(impl_->index_of(id), when);
}

bool SimNetwork::step() {
  if (impl_->queue.empty()) return false;
  std::pop_heap(impl_->queue.begin(), impl_->queue.end(), later);
  SimEvent event = std::move(impl_->queue.back());
  impl_->queue.pop_back();
  impl_->clock.set(event.turn.when);
  ++impl_->events;
  if (event.machine != SimLink::kNobody) {
    SimMachine& machine = impl_->machines[event.machine];
    if (!machine.running || machine.life != event.life) return true;
    if (machine.paused) {
      machine.held.push_back(std::move(event.body));
      return true;
    }
  }
  event.body();
  return true;
}

void SimNetwork::run_until(TimePoint when) {
  while (!impl_->queue.empty() && impl_->queue.front().turn.when <= when) step();
  impl_->clock.set(std::max(when, now()));
}

std::uint64_t SimNetwork::trace_hash() const { return impl_->hash; }
std::uint64_t SimNetwork::events() const { return impl_->events; }

// --- SimTransport: a dead one does nothing.

bool SimTransport::alive() const {
  const SimMachine& machine = network_.impl_->machines[index_];
  return machine.running && machine.life == life_;
}

const PeerId& SimTransport::self() const { return network_.impl_->machines[index_].id; }

void SimTransport::set_handler(TransportHandler& handler) {
  if (alive()) network_.impl_->machines[index_].handler = &handler;
}

void SimTransport::connect(const PeerAddress& peer) {
  if (alive()) network_.impl_->connect(index_, peer);
}

Status SimTransport::send(const PeerId& to, Lane lane, Frame frame) {
  if (!alive()) return unavailable("send: this machine has stopped");
  return network_.impl_->send(index_, to, lane, std::move(frame));
}

std::size_t SimTransport::queued_bytes(const PeerId& to, Lane lane) const {
  const auto link = alive() ? network_.impl_->up_link(index_, to) : nullptr;
  if (!link) return 0;
  const auto end = static_cast<std::size_t>(link->end_of(index_));
  return link->direction[end].queued[static_cast<std::size_t>(lane)];
}

void SimTransport::cancel_bulk(const PeerId& to) {
  if (alive()) network_.impl_->cancel_bulk(index_, to);
}

void SimTransport::close(const PeerId& peer, const Status& why) {
  if (alive()) network_.impl_->close(index_, peer, why);
}

bool SimTransport::linked(const PeerId& peer) const {
  return alive() && network_.impl_->up_link(index_, peer) != nullptr;
}

void SimTransport::set_trust(const PeerId& peer, LinkTrust trust) {
  if (alive()) network_.impl_->set_trust(index_, peer, trust);
}

std::vector<std::string> SimTransport::endpoints() const {
  return {"sim:" + std::to_string(index_)};
}

TransportStats SimTransport::stats(const PeerId& peer) const {
  const SimNetwork::Impl& net = *network_.impl_;
  const auto link = alive() ? network_.impl_->up_link(index_, peer) : nullptr;
  if (!link) return {};
  TransportStats stats = link->stats[static_cast<std::size_t>(link->end_of(index_))];
  const double slowness =
      std::max(net.machines[link->ends[0]].slowness, net.machines[link->ends[1]].slowness);
  stats.rtt_seconds = 2 * to_seconds(net.options.delay_mean) * slowness;
  return stats;
}

TransportStats SimTransport::total_stats() const { return network_.impl_->machines[index_].total; }

}  // namespace weft
