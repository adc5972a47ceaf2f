// The explored network as a whole: its beginning, what may happen, what was, and how it heals.
#include <algorithm>

#include "weft/peer/test_peer.h"
#include "weft/sim/membership/explored_impl.h"
#include "weft/sim/membership/mixed_numbers.h"
#include "weft/wire/codec.h"

namespace weft {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

MembershipOptions explored_options(int number) {
  MembershipOptions options = test_membership(test_peer_id(static_cast<std::uint32_t>(number)));
  options.endpoints = {"explored:" + std::to_string(number)};
  // Silence, patience and the loss of a quorum are matters of time; here only ballots are.
  options.join_timeout = options.join_attempt_timeout = hours(1000);
  options.strangers.timeout = options.bad_link_timeout = hours(1000);
  options.quorum_timeout = options.unreached_timeout = hours(1000);
  options.strangers.frames_max = options.strangers.answers_max = 1'000'000;
  options.strangers.bytes_max = 1'000'000'000;
  return options;
}

}  // namespace

std::string to_string(const Action& action) {
  const std::string a = std::to_string(action.a);
  const std::string b = std::to_string(action.b);
  switch (action.kind) {
    case Action::Kind::kDeliver:
      return b + " -> " + a;
    case Action::Kind::kLost:
      return a + " loses its link with " + b;
    case Action::Kind::kTimer:
      return a + "'s proposal timer fires";
    case Action::Kind::kCaughtUp:
      return a + " has caught up";
    case Action::Kind::kResult:
      return a + " has a result";
    case Action::Kind::kFetch:
      return a + " fetches what is committed";
    case Action::Kind::kTold:
      return a + " is told by " + b + " that it lags behind";
    case Action::Kind::kKilled:
      return a + " is killed";
    case Action::Kind::kSuspect:
      return a + " suspects " + b;
    case Action::Kind::kLeave:
      return a + " leaves";
  }
  return "";
}

// --- The network as others see it.

ExploredNetwork::ExploredNetwork(const ExploreOptions& options)
    : impl_(std::make_unique<Impl>(options)) {}
ExploredNetwork::~ExploredNetwork() = default;

ExploredWorld ExploredNetwork::start() {
  Impl& net = *impl_;
  const int n = net.count();
  ExploredWorld world;
  world.invariants = std::make_shared<Invariants>(test_membership(PeerId()).run);
  world.queues.resize(at(n * n));
  for (int i = 0; i < n; ++i) {
    ExploredPeer peer;
    MembershipOptions options = explored_options(i);
    peer.id = options.self;
    options.joins_at_once = n;
    peer.membership = std::make_shared<Membership>(std::move(options), *net.outlets[at(i)],
                                                   Rng(1, static_cast<std::uint64_t>(i)));
    peer.links = (peer_bit(n) - 1) & ~peer_bit(i);
    world.peers.push_back(std::move(peer));
  }
  net.begin(world);
  net.own(0).found(TimePoint());
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      LinkInfo link;
      link.peer = net.peer(j).id;
      if (i != j) net.own(i).on_link_up(link, TimePoint());
    }
  }
  const Ticket ticket =
      net.peer(0).membership->ticket(kExploredUnixTime, hours(1), InvitationId{1});
  for (int i = 1; i < n; ++i) {
    net.own(i).join(ticket, net.peer(i).now);
    if (i < net.options.members) {
      net.run_until(
          [&] {
            return net.peer(0).membership->view().size() == i + 1 &&
                   net.peer(i).membership->state() == MembershipState::kMember;
          },
          seconds(30));
    } else {
      while (!net.peer(i).may_catch_up) {
        for (int to = 0; to < n; ++to) {
          for (int from = 0; from < n; ++from) {
            if (from != to && !net.queue(from, to).empty()) net.deliver(to, from);
          }
        }
      }
    }
  }
  // Whatever else is under way arrives, but no joiner says that it is ready.
  for (bool more = true; more;) {
    more = false;
    for (int to = 0; to < n; ++to) {
      for (int from = 0; from < n; ++from) {
        if (from == to || net.queue(from, to).empty()) continue;
        net.deliver(to, from);
        more = true;
      }
    }
  }
  net.end();
  for (ExploredPeer& peer : world.peers) peer.ballots_left = net.options.ballots;
  world.crashes_left = net.options.crashes;
  world.suspicions_left = net.options.suspicions;
  world.leaves_left = net.options.leaves;
  const int all = net.options.ballots_in_all;
  world.ballots_left = all == 0 ? net.options.ballots * n : all;
  return world;
}

std::vector<Action> ExploredNetwork::actions(const ExploredWorld& world) const {
  using Kind = Action::Kind;
  const int n = impl_->count();
  impl_->world = const_cast<ExploredWorld*>(&world);
  std::vector<Action> out;
  for (int a = 0; a < n; ++a) {
    const ExploredPeer& peer = world.peers[at(a)];
    if (!peer.alive) continue;
    const Membership::Core& core = peer.membership->core();
    for (int b = 0; b < n; ++b) {
      if (a == b) continue;
      const ExploredPeer& other = world.peers[at(b)];
      const bool waiting = !world.queues[at(b * n + a)].empty();
      if (waiting) out.push_back({Kind::kDeliver, a, b});
      if (!other.alive && (peer.links & peer_bit(b)) != 0) out.push_back({Kind::kLost, a, b});
      if (!waiting && world.queues[at(a * n + b)].empty() && impl_->lags(a, b)) {
        out.push_back({Kind::kTold, a, b});
      }
      if (world.suspicions_left > 0 && other.alive && core.active() &&
          core.watch.all().count(other.id) != 0 && !core.watch.all().at(other.id).own) {
        out.push_back({Kind::kSuspect, a, b});
      }
    }
    const ModelRounds& rounds = peer.rounds;
    if (core.active() && core.balloting.propose_at() != kNever && peer.ballots_left > 0 &&
        world.ballots_left > 0) {
      out.push_back({Kind::kTimer, a, a});
    }
    if (peer.may_catch_up) out.push_back({Kind::kCaughtUp, a, a});
    if (rounds.behind()) {
      out.push_back({Kind::kFetch, a, a});
    } else if (rounds.member && !rounds.result &&
               rounds.applied.value() < static_cast<std::uint64_t>(impl_->options.rounds)) {
      out.push_back({Kind::kResult, a, a});
    }
    if (world.crashes_left > 0) out.push_back({Kind::kKilled, a, a});
    if (world.leaves_left > 0 && core.active() && !core.leaving) {
      out.push_back({Kind::kLeave, a, a});
    }
  }
  return out;
}

void ExploredNetwork::act(ExploredWorld& world, const Action& action) {
  Impl& net = *impl_;
  net.begin(world);
  const int a = action.a;
  switch (action.kind) {
    case Action::Kind::kDeliver:
      net.deliver(a, action.b);
      break;
    case Action::Kind::kLost:
      net.lose(a, action.b);
      break;
    case Action::Kind::kTimer:
      net.fire(a);
      break;
    case Action::Kind::kCaughtUp:
      net.peer(a).may_catch_up = false;
      (void)net.fetch(a);
      net.own(a).caught_up(net.peer(a).rounds.applied, net.peer(a).now);
      break;
    case Action::Kind::kResult:
      net.result(a);
      break;
    case Action::Kind::kFetch:
      if (!net.fetch(a)) net.fail("nobody alive holds what the view's base round covers");
      break;
    case Action::Kind::kTold:
      net.tell(a, action.b);
      break;
    case Action::Kind::kKilled:
      --world.crashes_left;
      net.kill(a);
      break;
    case Action::Kind::kSuspect:
      --world.suspicions_left;
      net.own(a).suspect(net.peer(action.b).id, "explored", net.peer(a).now);
      break;
    case Action::Kind::kLeave:
      --world.leaves_left;
      net.own(a).leave(net.peer(a).now);
      break;
  }
  for (int i = 0; i < net.count(); ++i) {
    if (net.peer(i).left && net.peer(i).alive) net.kill(i);
  }
  net.drop_void();
  net.end();
}

Hash128 ExploredNetwork::fingerprint(const ExploredWorld& world) const {
  Writer out;
  for (const ExploredPeer& peer : world.peers) {
    const ModelRounds& rounds = peer.rounds;
    out.raw(peer.fingerprint).u32(peer.links).u64(static_cast<std::uint64_t>(peer.ballots_left));
    const std::uint32_t flags = (peer.alive ? 1U : 0U) | (peer.left ? 2U : 0U) |
                                (peer.removed ? 4U : 0U) | (peer.may_catch_up ? 8U : 0U) |
                                (rounds.told ? 16U : 0U) | (rounds.frozen ? 32U : 0U) |
                                (rounds.member ? 64U : 0U);
    out.u32(flags).round(rounds.applied).u64(rounds.state).u64(rounds.result.value_or(0));
    out.u32(rounds.done).u64(number_of_hash(rounds.view.id.hash));
  }
  for (const auto& queue : world.queues) {
    out.u8(0xfe);
    for (const auto& frame : queue) out.raw(frame->hash);
  }
  out.u64(world.invariants->digest());
  out.u64(static_cast<std::uint64_t>(world.crashes_left));
  out.u64(static_cast<std::uint64_t>(world.suspicions_left));
  out.u64(static_cast<std::uint64_t>(world.leaves_left));
  out.u64(static_cast<std::uint64_t>(world.ballots_left));
  return xxh3_128(out.written());
}

std::string ExploredNetwork::heal(ExploredWorld world) {
  Impl& net = *impl_;
  net.begin(world);
  net.run_until([&] { return net.healed() || !world.violation().empty(); }, seconds(120));
  std::string fault = world.violation();
  const View newest = net.newest();
  int voters = 0;
  for (const Member& member : newest.members) {
    const ExploredPeer& peer = net.peer(net.index_of(member.id));
    if (peer.alive && !peer.removed) ++voters;
  }
  const RunId run = test_membership(PeerId()).run;
  const bool tie = newest.size() == 2 && net.peer(net.index_of(tie_breaker(run, newest))).alive;
  const bool lost = voters < newest.quorum() && !tie;
  if (fault.empty() && !lost && !net.healed()) {
    fault = "does not heal:";
    for (int i = 0; i < net.count(); ++i) {
      const ExploredPeer& peer = net.peer(i);
      fault += " " + std::to_string(i) + " " +
               (peer.alive ? std::string(to_string(peer.membership->state())) + " in view " +
                                 std::to_string(peer.membership->view().id.number.value()) +
                                 " of " + std::to_string(peer.membership->view().size())
                           : std::string("dead"));
    }
  }
  net.end();
  return fault;
}

}  // namespace weft
