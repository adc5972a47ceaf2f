// What happens to one peer in an explored world: what it says, what reaches it, its rounds.
#include <algorithm>

#include "weft/sim/membership/explored_impl.h"
#include "weft/sim/membership/mixed_numbers.h"
#include "weft/wire/codec.h"

namespace weft {
namespace {

constexpr std::uint8_t kDoneFrame = 0x32;

// Every one of these messages begins with the view that it speaks of; a notice names two.
void note_subject(QueuedFrame& frame) {
  Reader in("explored", frame.head);
  switch (frame.type) {
    case frame_type::kViewNotice:
      (void)in.view("previous");
      frame.view = in.view("view");
      break;
    case frame_type::kPromise:
    case frame_type::kAccepted:
      frame.view = in.view("view");
      frame.ballot.counter = in.u64("counter");
      frame.ballot.proposer = in.peer("proposer");
      break;
    case frame_type::kSuspicion:
      frame.view = in.view("view");
      frame.suspect = in.peer("who");
      break;
    case frame_type::kPrepare:
    case frame_type::kAccept:
    case frame_type::kRejected:
    case frame_type::kLeaving:
      frame.view = in.view("view");
      break;
    default:
      break;
  }
}

}  // namespace

// --- What the memberships say.

ExploredPeer& Outlet::me() const { return network_.peer(self_); }

void Outlet::send(const PeerId& to, Frame frame) {
  const int target = network_.index_of(to);
  if (target < 0 || (me().links & peer_bit(target)) == 0) return;
  // Before the frame is lost with its receiver: it was said.
  const std::uint8_t type = frame.type;
  if (type == frame_type::kAccept || type == frame_type::kAccepted ||
      type == frame_type::kLeaving) {
    network_.check([&](Invariants& all) { all.on_sent(me().id, to, frame); });
  }
  network_.push(self_, target, frame);
}

void Outlet::close(const PeerId& peer, const Status& why) {
  network_.fail(std::to_string(self_) + " closes its link with peer " + peer.short_name() + ": " +
                why.message());
}

RoundStatus Outlet::round_status() const { return me().rounds.status(); }
Round Outlet::committed_round() const { return me().rounds.applied; }
void Outlet::on_freeze() { me().rounds.frozen = true; }
void Outlet::on_removed(const Status& /*why*/) {
  me().removed = true;
  me().rounds.member = false;
}
void Outlet::on_left() { me().left = true; }

void Outlet::on_view(const View& view, const ViewChange& change) {
  ModelRounds& rounds = me().rounds;
  if (rounds.result && !change.caught_up && rounds.applied < view.base_round) {
    network_.commit(self_);
  }
  const ExploredPeer& peer = me();
  const std::uint64_t life = peer.membership->core().options.incarnation;
  network_.check([&](Invariants& all) { all.on_view(peer.id, life, view, rounds.applied); });
  rounds.view = view;
  rounds.result.reset();
  rounds.told = rounds.frozen = false;
  rounds.member = true;
  rounds.done = 0;
}

void Outlet::on_join_accepted(const View& view, const PeerId& /*sponsor*/) { on_view_ahead(view); }

void Outlet::on_view_ahead(const View& view) {
  me().rounds.view = view;
  me().may_catch_up = true;
}

void Outlet::on_join_failed(const Status& why) {
  network_.fail(std::to_string(self_) + " gives up joining: " + why.message());
}

// --- What happens.

void ExploredNetwork::Impl::push(int from, int to, const Frame& frame) const {
  if (frame.type == frame_type::kHeartbeat || !peer(to).alive) return;
  auto queued = std::make_shared<QueuedFrame>();
  queued->type = frame.type;
  queued->head = frame.head;
  queued->hash = xxh3_128(frame.head);
  queued->hash[0] ^= frame.type;
  note_subject(*queued);
  auto& waiting = queue(from, to);
  // The same words once more, right behind, say nothing new.
  if (!waiting.empty() && waiting.back()->hash == queued->hash) return;
  waiting.push_back(std::move(queued));
}

// Whether this frame, whenever it arrives, changes nothing: its sender and its receiver both know
// more, and they never know less again.
bool ExploredNetwork::Impl::is_void(int from, int to, const QueuedFrame& frame) const {
  const ExploredPeer& receiver = peer(to);
  const Membership::Core& core = receiver.membership->core();
  // The run's key counts for those without a quorum only, and nobody here waits that long.
  if (frame.type == frame_type::kMemberProof) return true;
  if (!core.active() || frame.view == ViewId()) return false;
  const ViewId& known = receiver.membership->view().id;
  if (frame.type == frame_type::kViewNotice) return frame.view <= known;
  if (frame.view < known) {
    // It would be answered with the view, which the sender has.
    const ExploredPeer& sender = peer(from);
    return !sender.alive ||
           (sender.membership->core().active() && sender.membership->view().id >= known);
  }
  if (frame.view != known || !core.balloting.agreement()) return false;
  if (frame.type == frame_type::kSuspicion) {
    // Two voices are enough, and nobody takes one back here.
    const auto found = core.watch.all().find(frame.suspect);
    return found != core.watch.all().end() && core.watch.reporters(found->second) >= 2;
  }
  if (frame.type == frame_type::kPromise)
    return !core.balloting.agreement()->awaits_promise(frame.ballot);
  return frame.type == frame_type::kAccepted &&
         !core.balloting.agreement()->awaits_acceptance(frame.ballot);
}

void ExploredNetwork::Impl::drop_void() const {
  for (int to = 0; to < count(); ++to) {
    for (int from = 0; from < count(); ++from) {
      auto& waiting = queue(from, to);
      if (from == to || waiting.empty()) continue;
      waiting.erase(std::remove_if(waiting.begin(), waiting.end(),
                                   [&](const auto& frame) { return is_void(from, to, *frame); }),
                    waiting.end());
    }
  }
}

void ExploredNetwork::Impl::deliver(int to, int from) {
  const std::shared_ptr<const QueuedFrame> frame = queue(from, to).front();
  queue(from, to).erase(queue(from, to).begin());
  if (frame->type == kDoneFrame) {
    on_done(to, from, frame->head);
  } else {
    own(to).on_frame(peer(from).id, FrameView{frame->type, frame->head, {}}, peer(to).now);
  }
}

void ExploredNetwork::Impl::lose(int who, int dead) {
  queue(dead, who).clear();
  peer(who).links &= ~peer_bit(dead);
  // The connection, and then the attempt to dial again.
  for (int i = 0; i < 2; ++i) {
    own(who).on_link_down(peer(dead).id, unavailable("refused"), peer(who).now);
  }
}

void ExploredNetwork::Impl::hear_all(int who) {
  for (int other = 0; other < count(); ++other) {
    if (other == who || !peer(other).alive || (peer(who).links & peer_bit(other)) == 0) continue;
    own(who).on_sign_of_life(peer(other).id, peer(who).now);
  }
}

// Until its member has begun a ballot, or has seen that it needs none.
void ExploredNetwork::Impl::fire(int who) {
  --peer(who).ballots_left;
  --world->ballots_left;
  const int before = peer(who).membership->core().balloting.ballots();
  for (int i = 0; i < 1000; ++i) {
    const Membership::Core& core = peer(who).membership->core();
    if (core.balloting.propose_at() == kNever || core.balloting.ballots() != before ||
        !core.active())
      return;
    peer(who).now = std::max(peer(who).now, core.balloting.propose_at());
    hear_all(who);
    own(who).on_timer(peer(who).now);
  }
}

bool ExploredNetwork::Impl::lags(int who, int by) const {
  const ExploredPeer& a = world->peers[at(who)];
  const ExploredPeer& b = world->peers[at(by)];
  return a.alive && b.alive && (a.links & peer_bit(by)) != 0 && (b.links & peer_bit(who)) != 0 &&
         a.membership->core().active() && b.membership->core().active() &&
         a.membership->view().id < b.membership->view().id;
}

// A heartbeat of `who` reaches `by`, which knows better.
void ExploredNetwork::Impl::tell(int who, int by) {
  HeartbeatMessage message;
  message.view = peer(who).membership->view().id;
  message.incarnation = peer(who).membership->core().options.incarnation;
  message.done = peer(who).rounds.status().done;
  const Bytes head = message.encode();
  own(by).on_frame(peer(who).id, FrameView{frame_type::kHeartbeat, head, {}}, peer(by).now);
}

void ExploredNetwork::Impl::kill(int who) {
  peer(who).alive = false;
  for (int other = 0; other < count(); ++other) queue(other, who).clear();
}

// --- Rounds.

void ExploredNetwork::Impl::result(int who) {
  ModelRounds& rounds = peer(who).rounds;
  rounds.result = mixed_number(number_of_hash(rounds.view.id.hash), rounds.applied.next().value());
  if (rounds.frozen) return;
  rounds.told = true;
  const Bytes head = Writer().view(rounds.view.id).round(rounds.status().done).take();
  for (const Member& member : rounds.view.members) {
    const int to = index_of(member.id);
    if (to != who && (peer(who).links & peer_bit(to)) != 0)
      push(who, to, Frame{kDoneFrame, head, {}});
  }
  commit_if_all(who);
}

void ExploredNetwork::Impl::on_done(int who, int from, ByteSpan head) {
  ModelRounds& rounds = peer(who).rounds;
  Reader in("done", head);
  const ViewId view = in.view("view");
  const Round round = in.round("round");
  if (!rounds.member || view != rounds.view.id || round != rounds.applied.next()) return;
  rounds.done |= peer_bit(from);
  commit_if_all(who);
}

void ExploredNetwork::Impl::commit_if_all(int who) {
  const ModelRounds& rounds = peer(who).rounds;
  if (!rounds.result || !rounds.told) return;
  for (const Member& member : rounds.view.members) {
    const int other = index_of(member.id);
    if (other != who && (rounds.done & peer_bit(other)) == 0) return;
  }
  commit(who);
}

void ExploredNetwork::Impl::commit(int who) {
  ModelRounds& rounds = peer(who).rounds;
  rounds.applied = rounds.applied.next();
  rounds.state = mixed_number(rounds.state, *rounds.result);
  rounds.result.reset();
  rounds.told = false;
  rounds.done = 0;
  check([&](Invariants& all) {
    all.on_commit(peer(who).id, rounds.view.lineage, rounds.applied, rounds.state);
  });
}

bool ExploredNetwork::Impl::fetch(int who) {
  ModelRounds& rounds = peer(who).rounds;
  for (const ExploredPeer& other : world->peers) {
    if (!other.alive || other.rounds.applied < rounds.view.base_round) continue;
    rounds.applied = other.rounds.applied;
    rounds.state = other.rounds.state;
    rounds.result.reset();
    rounds.told = false;
    rounds.done = 0;
    return true;
  }
  return false;
}

// --- A world in which nothing goes wrong any more.

bool ExploredNetwork::Impl::deliver_everything() {
  bool any = false;
  for (bool more = true; more;) {
    more = false;
    for (int to = 0; to < count(); ++to) {
      if (!peer(to).alive) continue;
      if (peer(to).left) kill(to);
      for (int from = 0; from < count() && peer(to).alive; ++from) {
        if (from == to) continue;
        if (!queue(from, to).empty()) {
          deliver(to, from);
          more = true;
        } else if (!peer(from).alive && (peer(to).links & peer_bit(from)) != 0) {
          lose(to, from);
          more = true;
        }
      }
      if (peer(to).alive && peer(to).may_catch_up) {
        peer(to).may_catch_up = false;
        (void)fetch(to);
        own(to).caught_up(peer(to).rounds.applied, peer(to).now);
        more = true;
      }
    }
    any = any || more;
  }
  return any;
}

void ExploredNetwork::Impl::run_until(const std::function<bool()>& enough, Duration limit) {
  TimePoint now{};
  for (const ExploredPeer& each : world->peers) now = std::max(now, each.now);
  const TimePoint ends = now + limit;
  while (now <= ends) {
    for (ExploredPeer& each : world->peers) each.now = now;
    (void)deliver_everything();
    if (enough()) return;
    for (int who = 0; who < count(); ++who) {
      for (int by = 0; by < count(); ++by) {
        if (who != by && lags(who, by)) tell(who, by);
      }
    }
    TimePoint next = kNever;
    for (int who = 0; who < count(); ++who) {
      if (!peer(who).alive) continue;
      hear_all(who);
      if (peer(who).membership->next_deadline() <= now) own(who).on_timer(now);
      next = std::min(next, std::max(now, peer(who).membership->next_deadline()));
    }
    if (deliver_everything()) continue;
    if (next == kNever) return;
    now = std::max(next, now + std::chrono::microseconds(100));
  }
}

// The newest view of anybody that lives; what the dead alone knew is lost with them.
View ExploredNetwork::Impl::newest() const {
  View newest;
  for (const ExploredPeer& each : world->peers) {
    const bool counts = each.alive && !each.removed && each.membership->core().active();
    if (counts && each.membership->view().id > newest.id) newest = each.membership->view();
  }
  return newest;
}

bool ExploredNetwork::Impl::healed() const {
  const View newest = this->newest();
  for (const Member& member : newest.members) {
    if (!peer(index_of(member.id)).alive) return false;
  }
  for (const ExploredPeer& each : world->peers) {
    if (!each.alive || each.removed) continue;
    if (each.membership->state() != MembershipState::kMember) return false;
    if (each.membership->view() != newest) return false;
  }
  return true;
}

}  // namespace weft
