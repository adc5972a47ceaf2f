#include "weft/sim/membership/scale.h"

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "weft/peer/parts/membership_core.h"
#include "weft/peer/test_peer.h"

namespace weft {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint64_t kFrameBytes = 6;

class ScaleWorld;

class ScalePeer final : public MembershipSink {
 public:
  ScalePeer(ScaleWorld& world, int index, MembershipOptions options)
      : membership(std::move(options), *this, Rng(1, static_cast<std::uint64_t>(index))),
        world_(world),
        index_(index) {}

  void send(const PeerId& to, Frame frame) override;
  void connect(const PeerAddress& peer) override;
  void close(const PeerId& /*peer*/, const Status& /*why*/) override {}
  std::int64_t unix_time_s() const override { return 1'700'000'000; }
  RoundStatus round_status() const override { return {}; }
  Round committed_round() const override { return {}; }
  void on_freeze() override {}
  void on_view(const View& /*view*/, const ViewChange& /*change*/) override {}
  void on_isolated(const IsolatedReport& /*report*/) override {}
  void on_quorum_back() override {}
  void on_removed(const Status& /*why*/) override {}
  void on_left() override {}
  void on_joiner(const Member& /*joiner*/) override {}
  void on_joiner_gone(const PeerId& /*joiner*/, const Status& /*why*/) override {}
  void on_refused(const PeerId& /*peer*/, const Status& /*why*/) override {}
  void on_join_accepted(const View& /*view*/, const PeerId& /*sponsor*/) override {}
  void on_view_ahead(const View& /*view*/) override {}
  void on_join_failed(const Status& /*why*/) override {}

  Membership membership;
  Traffic traffic;

 private:
  ScaleWorld& world_;
  int index_;
};

class ScaleWorld {
 public:
  ScaleWorld(int members, int real);

  ScaleResult measure();
  void on_sent(int from, const PeerId& to, Frame frame);
  void on_dialled(int from, const PeerId& to);

 private:
  struct Queued {
    PeerId from;
    PeerId to;
    Frame frame;
  };

  static MembershipOptions options_of(int index) {
    MembershipOptions options = test_membership(test_peer_id(static_cast<std::uint32_t>(index)));
    options.endpoints = {"192.0.2.101:" + std::to_string(20000 + index)};
    return options;
  }
  static Member member_of(int index) {
    const MembershipOptions options = options_of(index);
    return {options.self, options.incarnation, options.endpoints};
  }
  ScalePeer* real_peer(const PeerId& id) {
    const auto found = index_.find(id);
    return found == index_.end() || found->second >= static_cast<int>(real_.size())
               ? nullptr
               : real_[static_cast<std::size_t>(found->second)].get();
  }
  void deliver(const Queued& queued);
  void play(const Queued& queued);
  void beat_the_played();
  void run_until(TimePoint when);
  void pump();
  void kill(int index);

  int members_;
  TimePoint now_{};
  TimePoint beat_at_{};
  std::uint64_t beats_ = 0;
  std::vector<std::unique_ptr<ScalePeer>> real_;
  std::vector<PeerId> ids_;
  std::map<PeerId, int> index_;
  std::deque<Queued> queue_;
  ViewId view_;
  int killed_ = -1;
  std::uint64_t calls_ = 0;
  std::uint64_t notice_bytes_ = 0;
};

void ScalePeer::send(const PeerId& to, Frame frame) {
  world_.on_sent(index_, to, std::move(frame));
}
void ScalePeer::connect(const PeerAddress& peer) { world_.on_dialled(index_, peer.id); }

ScaleWorld::ScaleWorld(int members, int real) : members_(members) {
  const RunId run = test_membership(PeerId()).run;
  ViewNoticeMessage all;
  all.previous.number = ViewNumber(1);
  for (int i = 0; i < members; ++i) {
    all.value.members.push_back(member_of(i));
    ids_.push_back(all.value.members.back().id);
    index_.emplace(ids_.back(), i);
  }
  all.view = next_view_id(run, all.previous, all.value);
  view_ = all.view;
  const Bytes notice = all.encode();
  notice_bytes_ = notice.size();
  for (int i = 0; i < real; ++i) {
    real_.push_back(std::make_unique<ScalePeer>(*this, i, options_of(i)));
    Membership& membership = real_.back()->membership;
    // Each comes in through another one, alone in its view until then.
    ViewNoticeMessage first;
    first.value.members = {member_of(i == 0 ? 1 : 0)};
    first.view = next_view_id(run, first.previous, first.value);
    const Member& sponsor = first.value.members.front();
    Ticket ticket;
    ticket.run = run;
    ticket.members = {{sponsor.id, sponsor.endpoints}};
    LinkInfo link;
    link.peer = sponsor.id;
    membership.join(ticket, now_);
    membership.on_link_up(link, now_);
    const Bytes accepted = JoinAcceptedMessage{first}.encode();
    membership.on_frame(link.peer, {frame_type::kJoinAccepted, accepted, {}}, now_);
    membership.on_frame(link.peer, {frame_type::kViewNotice, notice, {}}, now_);
    for (int j = 0; j < members; ++j) {
      link.peer = all.value.members[static_cast<std::size_t>(j)].id;
      if (j != i) membership.on_link_up(link, now_);
    }
  }
  queue_.clear();
}

void ScaleWorld::on_sent(int from, const PeerId& to, Frame frame) {
  ScalePeer& sender = *real_[static_cast<std::size_t>(from)];
  ++sender.traffic.messages_sent;
  sender.traffic.bytes_sent += frame.head.size() + kFrameBytes;
  Queued sent{ids_[static_cast<std::size_t>(from)], to, std::move(frame)};
  // What is played answers at once: 4,096 copies of a large view need not lie about.
  if (real_peer(to) == nullptr) {
    play(sent);
  } else {
    queue_.push_back(std::move(sent));
  }
}

void ScaleWorld::on_dialled(int from, const PeerId& to) {
  // Only the dead have no link, and nobody answers at their address.
  (void)from;
  (void)to;
}

void ScaleWorld::deliver(const Queued& queued) {
  ScalePeer* const receiver = real_peer(queued.to);
  ++receiver->traffic.messages_received;
  receiver->traffic.bytes_received += queued.frame.head.size() + kFrameBytes;
  ++calls_;
  receiver->membership.on_frame(queued.from, {queued.frame.type, queued.frame.head, {}}, now_);
}

// What a member that is not real answers.
void ScaleWorld::play(const Queued& queued) {
  if (index_.at(queued.to) == killed_) return;
  if (queued.frame.type == frame_type::kPrepare) {
    const auto message = PrepareMessage::decode(queued.frame.head);
    const PromiseMessage promise{message->view, message->ballot, {}, {}};
    queue_.push_back({queued.to, queued.from, {frame_type::kPromise, promise.encode(), {}}});
  } else if (queued.frame.type == frame_type::kAccept) {
    const auto message = AcceptMessage::decode(queued.frame.head);
    const AcceptedMessage accepted{message->view, message->ballot};
    queue_.push_back({queued.to, queued.from, {frame_type::kAccepted, accepted.encode(), {}}});
  }
}

// The members that are not real send heartbeats to the real ones that watch them.
void ScaleWorld::beat_the_played() {
  ++beats_;
  for (const auto& peer : real_) {
    const Membership::Core& core = peer->membership.core();
    const HeartbeatMessage beat{core.view.id, 1, beats_, {}};
    for (const PeerId& from : core.watch.observed()) {
      if (real_peer(from) != nullptr || index_.at(from) == killed_) continue;
      queue_.push_back({from, core.options.self, {frame_type::kHeartbeat, beat.encode(), {}}});
    }
  }
}

void ScaleWorld::pump() {
  while (!queue_.empty()) {
    const Queued next = std::move(queue_.front());
    queue_.pop_front();
    deliver(next);
  }
}

void ScaleWorld::run_until(TimePoint when) {
  while (true) {
    pump();
    TimePoint next = beat_at_;
    for (const auto& peer : real_) next = std::min(next, peer->membership.next_deadline());
    if (next > when) break;
    now_ = std::max(now_, next);
    if (now_ >= beat_at_) {
      beat_at_ = now_ + milliseconds(250);
      beat_the_played();
    }
    for (const auto& peer : real_) {
      if (peer->membership.next_deadline() > now_) continue;
      ++calls_;
      peer->membership.on_timer(now_);
    }
  }
  now_ = when;
}

void ScaleWorld::kill(int index) {
  killed_ = index;
  const PeerId dead = member_of(index).id;
  for (const auto& peer : real_) {
    // The connection, and then the attempt to dial again.
    peer->membership.on_link_down(dead, unavailable("closed"), now_);
    peer->membership.on_link_down(dead, unavailable("refused"), now_);
  }
}

ScaleResult ScaleWorld::measure() {
  ScaleResult result;
  result.notice_bytes = notice_bytes_;
  run_until(now_ + seconds(5));
  for (const auto& peer : real_) peer->traffic = Traffic();
  calls_ = 0;
  run_until(now_ + seconds(60));
  result.quiet = real_.back()->traffic;
  result.calls = calls_ / real_.size();
  for (const auto& peer : real_) peer->traffic = Traffic();
  kill(members_ - 1);
  run_until(now_ + milliseconds(200));
  result.proposer = real_.front()->traffic;
  for (const auto& peer : real_) {
    if (peer == real_.front()) continue;
    const Traffic& traffic = peer->traffic;
    if (traffic.bytes_sent + traffic.bytes_received >
        result.other.bytes_sent + result.other.bytes_received) {
      result.other = traffic;
    }
  }
  result.changed = std::all_of(real_.begin(), real_.end(), [&](const auto& peer) {
    return peer->membership.view().size() == members_ - 1;
  });
  return result;
}

}  // namespace

ScaleResult measure_scale(int members, int real) { return ScaleWorld(members, real).measure(); }

}  // namespace weft
