// TestPeer: one simulated machine with a membership, for the tests of this folder and weft/sim.
//
// Connects a SimTransport, a Membership and the alarm of its machine, and records the membership's
// calls. A joiner that is accepted reports at once that it has caught up.
// Threads: one owner.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/base/status.h"
#include "weft/net/sim_network.h"
#include "weft/peer/membership.h"

namespace weft {

// Peer `number` of a simulation.
inline PeerId test_peer_id(std::uint32_t number) {
  PeerId id;
  id.bytes = sha256(as_bytes("test peer " + std::to_string(number)));
  return id;
}

// Options that fit each other: same run, recipe and layout.
inline MembershipOptions test_membership(const PeerId& self) {
  MembershipOptions options;
  options.self = self;
  options.run = sha256(as_bytes("run"));
  options.recipe_hash = sha256(as_bytes("recipe"));
  options.layout_hash = sha256(as_bytes("layout"));
  options.invitation_key = sha256(as_bytes("key"));
  options.recipe_text = "recipe";
  options.quorum_timeout = std::chrono::seconds(5);
  return options;
}

class TestPeer : public TransportHandler, public MembershipSink {
 public:
  // Starts the machine. `options.endpoints` is filled in.
  TestPeer(SimNetwork& network, MembershipOptions options, std::uint64_t seed = 1)
      : net(network), id(options.self), transport(network.start(options.self)) {
    transport.set_handler(*this);
    options.endpoints = {net.endpoint(id)};
    membership = std::make_unique<Membership>(std::move(options), *this, Rng(seed, number_of(id)));
    net.set_alarm_body(id, [this] {
      alarm_ = TimePoint::max();
      membership->on_timer(net.now());
      pump();
    });
  }

  void found() {
    membership->found(net.now());
    pump();
  }
  void join(const Ticket& ticket) {
    membership->join(ticket, net.now());
    pump();
  }
  void leave() {
    membership->leave(net.now());
    pump();
  }
  void suspect(const PeerId& peer, const std::string& reason) {
    membership->suspect(peer, reason, net.now());
    pump();
  }
  Ticket ticket(const InvitationId& invitation = InvitationId{1}) const {
    return membership->ticket(net.clock().unix_time_s(), std::chrono::hours(1), invitation);
  }
  Status revoke(const InvitationId& invitation) {
    Status outcome = membership->revoke(invitation, net.now());
    pump();
    return outcome;
  }
  Result<std::string> expel(const PeerId& peer, const std::string& reason) {
    Result<std::string> outcome = membership->expel(peer, reason, net.now());
    pump();
    return outcome;
  }
  // Ends hold_sync.
  void let_sync() {
    hold_sync = false;
    pump();
  }
  const View& view() const { return membership->view(); }
  MembershipState state() const { return membership->state(); }

  // --- TransportHandler.
  void on_link_up(const LinkInfo& link) override {
    membership->on_link_up(link, net.now());
    pump();
  }
  void on_link_down(const PeerId& peer, const Status& why) override {
    membership->on_link_down(peer, why, net.now());
    pump();
  }
  void on_frame(const PeerId& from, Lane /*lane*/, const FrameView& frame) override {
    if (is_membership_frame(frame.type)) {
      membership->on_frame(from, frame, net.now());
    } else if (membership->admits_frame(from, frame, net.now())) {
      membership->on_sign_of_life(from, net.now());
      on_other_frame(from, frame);
    }
    pump();
  }
  void on_writable(const PeerId& /*peer*/, Lane /*lane*/) override {}

  // --- MembershipSink.
  void send(const PeerId& to, Frame frame) override {
    // Without a link the frame is lost.
    (void)transport.send(to, Lane::kControl, std::move(frame));
  }
  void connect(const PeerAddress& peer) override { transport.connect(peer); }
  void close(const PeerId& peer, const Status& why) override {
    closed.push_back(why);
    transport.close(peer, why);
  }
  void set_trust(const PeerId& peer, LinkTrust trust) override { transport.set_trust(peer, trust); }
  std::int64_t unix_time_s() const override { return net.clock().unix_time_s(); }
  bool keeps_records() const override { return true; }
  bool keep_record(ByteSpan bytes, bool durable) override {
    if (disk_broken) return false;
    record.assign(bytes.begin(), bytes.end());
    if (durable) ++syncs;
    return true;
  }
  // The record that a process on this machine finds when it is started again.
  std::optional<VoterRecord> left_behind() const {
    Result<VoterRecord> decoded = VoterRecord::decode(record);
    return decoded.ok() ? std::optional(std::move(decoded).value()) : std::nullopt;
  }
  void on_join_waiting(const std::string& text) override { waits.push_back(text); }
  std::uint64_t sync_progress() const override { return progress; }
  RoundStatus round_status() const override { return status; }
  Round committed_round() const override { return committed.value_or(status.done); }
  void on_freeze() override { ++freezes; }
  void on_view(const View& view, const ViewChange& change) override {
    views.push_back(view);
    changes.push_back(change);
  }
  void on_isolated(const IsolatedReport& report) override { isolated = report; }
  void on_quorum_back() override { ++quorums_back; }
  void on_removed(const Status& why) override { removed = why; }
  void on_left() override { left = true; }
  void on_joiner(const Member& joiner) override { joiners.push_back(joiner.id); }
  void on_joiner_gone(const PeerId& joiner, const Status& /*why*/) override {
    joiners_gone.push_back(joiner);
  }
  void on_refused(const PeerId& /*peer*/, const Status& why) override { refused.push_back(why); }
  void on_join_accepted(const View& view, const PeerId& from) override {
    sponsors.push_back(from);
    synced = view.base_round;
  }
  void on_view_ahead(const View& view) override { views_ahead.push_back(view); }
  void on_unreached(const std::vector<Member>& members, const std::string& text) override {
    for (const Member& member : members) unreached.push_back(member.id);
    unreached_text = text;
  }
  void on_join_failed(const Status& why) override { join_failed = why; }
  void on_run_over(Round round) override { run_over = round; }
  void on_run_gone(const std::optional<Round>& ended_with) override {
    on_join_failed(unavailable(ended_with ? "the run has ended" : "the run is gone"));
  }
  void on_misconduct(const Misconduct& report) override { reports.push_back(report); }
  void on_revoked(const InvitationId& invitation, const PeerId& /*by*/) override {
    revoked.push_back(invitation);
  }
  void on_second_process(const PeerId& /*peer*/, const std::string& text) override {
    twins.push_back(text);
  }

  SimNetwork& net;
  PeerId id;
  SimTransport& transport;
  std::unique_ptr<Membership> membership;

  RoundStatus status;
  // Without a value: the done round is committed.
  std::optional<Round> committed;
  int freezes = 0;
  int quorums_back = 0;
  bool left = false;
  std::vector<View> views;
  std::vector<ViewChange> changes;
  std::vector<View> views_ahead;
  std::optional<IsolatedReport> isolated;
  std::optional<Status> removed;
  std::vector<PeerId> unreached;
  std::string unreached_text;
  std::optional<Status> join_failed;
  std::optional<Round> run_over;
  std::vector<PeerId> joiners;
  std::vector<PeerId> joiners_gone;
  std::vector<PeerId> sponsors;
  std::vector<Status> refused;
  std::vector<Status> closed;
  std::vector<Misconduct> reports;
  std::vector<InvitationId> revoked;
  std::vector<std::string> twins;

 protected:
  // Frames of others than the membership.
  virtual void on_other_frame(const PeerId& /*from*/, const FrameView& /*frame*/) {}
  // After every event: performs what the sink could not do itself, then sets the alarm.
  virtual void pump() {
    if (synced && !hold_sync) {
      const Round round = *synced;
      synced.reset();
      membership->caught_up(round, net.now());
    }
    const TimePoint deadline = membership->next_deadline();
    if (deadline == alarm_) return;
    alarm_ = deadline;
    net.set_alarm(id, deadline);
  }

 public:
  // A slow joiner: it does not report that it has caught up.
  bool hold_sync = false;
  Bytes record;
  int syncs = 0;
  bool disk_broken = false;
  std::vector<std::string> waits;
  std::uint64_t progress = 0;
  std::optional<Round> synced;

 private:
  TimePoint alarm_ = TimePoint::max();

  static std::uint64_t number_of(const PeerId& peer) {
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < sizeof number; ++i) number = number << 8U | peer.bytes[i];
    return number;
  }
};

}  // namespace weft
