// SimPeer: one machine of a simulation, its membership and its toy rounds, watched by the
// invariants.
//
// Threads: one owner.
#pragma once

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <string>

#include "weft/base/status.h"
#include "weft/peer/test_peer.h"
#include "weft/sim/membership/invariants.h"
#include "weft/sim/membership/simulation.h"
#include "weft/sim/membership/toy_rounds.h"

namespace weft {

// What all peers of a simulation share.
struct SimWorld {
  SimWorld(const SimulationOptions& given, SimNetworkOptions network)
      : options(given), net(network), invariants(test_membership(PeerId()).run), rng(given.seed) {}

  const SimulationOptions& options;
  SimNetwork net;
  Invariants invariants;
  Rng rng;
  Duration round_interval{};
  // What is on each machine's disk, and what would be after a power loss.
  struct Disk {
    Bytes record;
    Bytes synced;
  };
  std::map<PeerId, Disk> disks;
};

inline void say(const SimWorld& world, const PeerId& peer, const std::string& text) {
  if (!world.options.trace) return;
  const double now = to_seconds(world.net.now().time_since_epoch());
  const std::string line = peer.short_name() + "  " + text;
  std::printf("%9.4f  %s\n", now, line.c_str());  // tidy: allow printf: --trace asked for it
}

class SimPeer final : public TestPeer {
 public:
  SimPeer(SimWorld& world, const MembershipOptions& options)
      : TestPeer(world.net, options, world.options.seed + options.incarnation),
        world_(world),
        incarnation_(options.incarnation),
        rounds_(options.self, world.round_interval,
                {[this](const PeerId& to, std::uint8_t type, Bytes head) {
                   send(to, Frame{type, std::move(head), {}});
                 },
                 [this](Round round, const ToyState& state) {
                   Lineage lineage = rounds_.view().lineage;
                   lineage.absorbed = state.absorbed;
                   world_.invariants.on_commit(id, lineage, round, state.number);
                   world_.invariants.on_learned(id, state.samples, state.learned);
                   last_commit = net.now();
                 }},
                Rng(world.options.seed, options.incarnation)) {
    hold_sync = true;
    net.set_alarm_body(id, [this] {
      alarm_at_ = TimePoint::max();
      if (net.now() >= membership->next_deadline()) membership->on_timer(net.now());
      rounds_.on_timer(net.now());
      pump();
    });
  }

  // --- MembershipSink.
  void send(const PeerId& to, Frame frame) override {
    world_.invariants.on_sent(id, to, frame);
    TestPeer::send(to, std::move(frame));
  }
  bool keeps_records() const override { return world_.options.records; }
  bool keep_record(ByteSpan bytes, bool durable) override {
    SimWorld::Disk& disk = world_.disks[id];
    disk.record.assign(bytes.begin(), bytes.end());
    if (durable) disk.synced = disk.record;
    return true;
  }
  RoundStatus round_status() const override { return rounds_.status(); }
  void on_freeze() override { rounds_.on_freeze(); }
  void on_view(const View& view, const ViewChange& change) override {
    say(world_, id, describe(view, change));
    rounds_.on_view(view, change.caught_up, net.now());
    world_.invariants.on_view(id, incarnation(), view, rounds_.applied());
    syncing_ = false;
  }
  std::uint64_t samples_after(Round round) const override { return rounds_.samples_after(round); }
  Round committed_round() const override { return rounds_.applied(); }
  void on_merge_offer(const MergeOffer& offer) override {
    say(world_, id, "is offered round " + std::to_string(offer.view.base_round.value()));
    for (const Member& member : offer.view.members) {
      transport.connect({member.id, member.endpoints});
    }
    rounds_.fetch_offer(offer.view, offer.snapshot, net.now());
  }
  void on_isolated(const IsolatedReport& report) override { say(world_, id, report.text); }
  void on_removed(const Status& why) override {
    say(world_, id, "removed: " + why.message());
    ++incarnation_;
    // Its own ticket names the members that absorbed its branch; otherwise it gets a newer one.
    if (world_.options.merge) own_ticket = ticket();
    rounds_.forget();
    join_at = net.now() + std::chrono::milliseconds(700);
  }
  void on_join_failed(const Status& why) override {
    say(world_, id, "join failed: " + why.message());
    join_at = net.now() + std::chrono::milliseconds(700);
  }
  void on_left() override {
    left = true;
    say(world_, id, "left");
  }
  void on_join_accepted(const View& view, const PeerId& sponsor) override {
    say(world_, id, "syncing with " + sponsor.short_name());
    rounds_.fetch(view, view.base_round, net.now());
    syncing_ = true;
  }
  void on_view_ahead(const View& view) override {
    rounds_.fetch(view, view.base_round, net.now());
    syncing_ = true;
  }
  void on_link_up(const LinkInfo& link) override {
    TestPeer::on_link_up(link);
    rounds_.on_link_up(link.peer, net.now());
  }

  Round applied() const { return rounds_.applied(); }
  std::uint64_t incarnation() const {
    return world_.options.records ? membership->record().incarnation : incarnation_;
  }
  // Whether the run can go on from what this peer has.
  bool holds_state() const { return !rounds_.fetching() && applied() >= view().base_round; }

  std::optional<Ticket> own_ticket;
  TimePoint join_at = TimePoint::max();
  TimePoint last_commit{};

 protected:
  void on_other_frame(const PeerId& from, const FrameView& frame) override {
    rounds_.on_frame(from, frame, net.now());
  }
  void pump() override {
    if (const auto offer = rounds_.take_offer()) membership->offer_state(*offer, net.now());
    while (const auto fetched = rounds_.take_fetched()) {
      say(world_, id, "has what was offered");
      membership->merge_ready(*fetched, net.now());
    }
    if (syncing_ && !rounds_.fetching()) {
      syncing_ = false;
      membership->caught_up(rounds_.applied(), net.now());
    }
    const TimePoint deadline = std::min(membership->next_deadline(), rounds_.next_deadline());
    if (deadline == alarm_at_) return;
    alarm_at_ = deadline;
    net.set_alarm(id, deadline);
  }

 private:
  static std::string describe(const View& view, const ViewChange& change) {
    const std::string branch = PeerId{view.lineage.branch()}.short_name();
    std::string text = view.lineage.points.empty() ? "" : "branch " + branch + ", ";
    text += "view " + std::to_string(view.id.number.value()) + " of " +
            std::to_string(view.size()) + ", base " + std::to_string(view.base_round.value());
    if (view.yields_to) text += ", yields";
    if (view.merge) {
      text += ", takes " + std::to_string(view.merge->samples) + " to its own " +
              std::to_string(view.merge->own_samples);
    }
    for (const Member& member : change.joined) text += ", +" + member.id.short_name();
    for (const Departure& departure : change.left) text += ", -" + to_string(departure);
    return text;
  }

  SimWorld& world_;
  std::uint64_t incarnation_;
  ToyRounds rounds_;
  bool syncing_ = false;
  TimePoint alarm_at_ = TimePoint::max();
};

}  // namespace weft
