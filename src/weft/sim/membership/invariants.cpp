#include "weft/sim/membership/invariants.h"

#include "weft/wire/branch_message.h"
#include "weft/wire/codec.h"
#include "weft/wire/frame_type.h"

namespace weft {
namespace {

// The name of the branch with what it has absorbed: each such history has its own results.
Hash128 name_of(const Lineage& lineage) {
  Writer out;
  out.raw(lineage.branch());
  for (const AbsorbedBranch& absorbed : lineage.absorbed) {
    out.raw(absorbed.branch).u64(absorbed.until);
  }
  return xxh3_128(out.written());
}

}  // namespace

void Invariants::fail(std::string text) {
  if (fault_.empty()) fault_ = std::move(text);
}

// Adds up, so that the order does not matter.
void Invariants::note(std::uint64_t what, const PeerId& who, const Hash256& about) {
  const Hash128 hash = xxh3_128(Writer().u64(what).peer(who).raw(about).written());
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < sizeof number; ++i) number = number << 8U | hash[i];
  digest_ += number;
}

void Invariants::on_sent(const PeerId& from, const PeerId& /*to*/, const Frame& frame) {
  if (frame.type == frame_type::kAccept) {
    const Result<AcceptMessage> message = AcceptMessage::decode(frame.head);
    if (!message.ok()) return fail("an accept message that does not decode");
    const auto [found, fresh] = proposals_.try_emplace({message->view, message->ballot});
    if (fresh) {
      found->second = message->difference
                          ? ViewId{message->view.number.next(), message->difference->next}
                          : next_view_id(run_, message->view, message->value);
    }
    // The proposer accepts its own value right after.
    if (acceptors_[found->second].insert(from).second) note(1, from, found->second.hash);
  } else if (frame.type == frame_type::kAccepted) {
    const Result<AcceptedMessage> message = AcceptedMessage::decode(frame.head);
    if (!message.ok()) return fail("an accepted message that does not decode");
    check_vote(from, message->view);
    const auto found = proposals_.find({message->view, message->ballot});
    if (found == proposals_.end()) return fail("an acceptance of what nobody proposed");
    if (acceptors_[found->second].insert(from).second) note(1, from, found->second.hash);
  } else if (frame.type == frame_type::kPromise) {
    const Result<PromiseMessage> message = PromiseMessage::decode(frame.head);
    if (!message.ok()) return fail("a promise that does not decode");
    check_vote(from, message->view);
  } else if (frame.type == frame_type::kBranch) {
    const Result<BranchMessage> message = BranchMessage::decode(frame.head);
    if (!message.ok()) return fail("a branch message that does not decode");
    const bool agrees =
        message->step == BranchStep::kAgree || message->step == BranchStep::kPropose;
    if (agrees) retired_[message->view].insert(from);
  } else if (frame.type == frame_type::kLeaving) {
    const Result<LeavingMessage> message = LeavingMessage::decode(frame.head);
    if (!message.ok()) return fail("a leaving message that does not decode");
    if (leaving_[message->view].insert(from).second) note(2, from, message->view.hash);
  }
}

void Invariants::on_view(const PeerId& peer, std::uint64_t incarnation, const View& view,
                         Round committed) {
  const std::string who =
      "peer " + peer.short_name() + ", view " + std::to_string(view.id.number.value());
  const Hash256 branch = view.lineage.branch();
  BranchView& last = installed_[{peer, incarnation}];
  if (view.id.number <= last.second && branch == last.first) fail(who + ": view numbers went back");
  last = {branch, view.id.number};
  if (committed > view.base_round) {
    fail(who + ": has committed round " + std::to_string(committed.value()) +
         ", beyond the base round " + std::to_string(view.base_round.value()));
  }
  const auto [found, fresh] = views_.try_emplace({branch, view.id.number}, view);
  if (!fresh) {
    if (found->second != view) fail(who + ": two different views with this number");
    return;
  }
  note(3, PeerId(), view.id.hash);
  if (view.merge) merges_.insert(view.id);
  const bool begins =
      !view.lineage.points.empty() && begins_.try_emplace(branch, view.base_round).second;
  const auto previous = views_.find({branch, ViewNumber(view.id.number.value() - 1)});
  if (begins) {
    check_branch(view);
  } else if (previous != views_.end()) {
    check_quorum(peer, previous->second, view);
  } else if (view.id.number != ViewNumber(1)) {
    // Decided, and installed by nobody but its successor's members: the chain of hashes covers it.
    if (acceptors_[view.id].empty()) fail(who + ": nobody accepted it");
  }
  if (view.id.number > newest_.id.number) newest_ = view;
}

void Invariants::check_branch(const View& view) {
  const std::set<PeerId>& agreed = retired_[view.lineage.points.back().from];
  for (const Member& member : view.members) {
    // A founder that is alone tells nobody.
    if (view.size() > 1 && agreed.count(member.id) == 0) {
      fail("peer " + member.id.short_name() + " is in the first view of a branch that it has not " +
           "agreed to");
    }
  }
}

void Invariants::check_vote(const PeerId& from, const ViewId& view) {
  const auto left = retired_.find(view);
  if (left != retired_.end() && left->second.count(from) != 0) {
    fail("peer " + from.short_name() + " votes in a view that it left for a branch");
  }
}

void Invariants::check_quorum(const PeerId& installer, const View& previous, const View& view) {
  const std::set<PeerId>& accepted = acceptors_[view.id];
  int votes = 0;
  for (const Member& member : previous.members) {
    if (accepted.count(member.id) != 0) ++votes;
  }
  if (votes >= previous.quorum() || previous.size() == 1) return;
  if (previous.size() == 2) {
    if (tie_breaker(run_, previous) == installer) return;
    for (const PeerId& leaver : leaving_[previous.id]) {
      if (leaver != installer) return;
    }
  }
  fail("view " + std::to_string(view.id.number.value()) + ": accepted by " + std::to_string(votes) +
       " of the " + std::to_string(previous.size()) + " members of the view before");
}

void Invariants::on_commit(const PeerId& peer, const Lineage& lineage, Round round,
                           std::uint64_t state) {
  const auto [found, fresh] = committed_.try_emplace({name_of(lineage), round}, state);
  if (fresh) note(round.value() << 8U | 4U, PeerId(), Hash256{});
  if (!fresh && found->second != state) {
    fail("peer " + peer.short_name() + ": another result for round " +
         std::to_string(round.value()) + " than another member has committed");
  }
  newest_round_ = std::max(newest_round_, round);
}

void Invariants::on_learned(const PeerId& peer, std::uint64_t samples,
                            const std::map<Hash256, std::uint64_t>& learned) {
  std::uint64_t sum = 0;
  for (const auto& [branch, round] : learned) {
    const auto begin = begins_.find(branch);
    sum += round - (begin == begins_.end() ? 0 : begin->second.value());
  }
  if (samples != sum) {
    fail("peer " + peer.short_name() + ": the state counts " + std::to_string(samples) +
         " samples and has learned from " + std::to_string(sum));
  }
}

}  // namespace weft
