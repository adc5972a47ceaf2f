#include "invariants.h"

#include "weft/wire/frame_type.h"

namespace weft {

void Invariants::fail(std::string text) {
  if (fault_.empty()) fault_ = std::move(text);
}

void Invariants::on_sent(const PeerId& from, const PeerId& /*to*/, const Frame& frame) {
  if (frame.type == frame_type::kAccept) {
    const Result<AcceptMessage> message = AcceptMessage::decode(frame.head);
    if (!message.ok()) return fail("an accept message that does not decode");
    const auto [found, fresh] = proposals_.try_emplace({message->view, message->ballot});
    if (fresh) found->second = next_view_id(run_, message->view, message->value);
    // The proposer accepts its own value right after.
    acceptors_[found->second].insert(from);
  } else if (frame.type == frame_type::kAccepted) {
    const Result<AcceptedMessage> message = AcceptedMessage::decode(frame.head);
    if (!message.ok()) return fail("an accepted message that does not decode");
    const auto found = proposals_.find({message->view, message->ballot});
    if (found == proposals_.end()) return fail("an acceptance of what nobody proposed");
    acceptors_[found->second].insert(from);
  } else if (frame.type == frame_type::kLeaving) {
    const Result<LeavingMessage> message = LeavingMessage::decode(frame.head);
    if (!message.ok()) return fail("a leaving message that does not decode");
    leaving_[message->view].insert(from);
  }
}

void Invariants::on_view(const PeerId& peer, std::uint64_t incarnation, const View& view,
                         Round committed) {
  const std::string who =
      "peer " + peer.short_name() + ", view " + std::to_string(view.id.number.value());
  ViewId& last = installed_[{peer, incarnation}];
  if (view.id.number <= last.number) fail(who + ": view numbers went back");
  last = view.id;
  if (committed > view.base_round) {
    fail(who + ": has committed round " + std::to_string(committed.value()) +
         ", beyond the base round " + std::to_string(view.base_round.value()));
  }
  const auto [found, fresh] = views_.try_emplace(view.id.number, view);
  if (!fresh) {
    if (found->second != view) fail(who + ": two different views with this number");
    return;
  }
  const auto previous = views_.find(ViewNumber(view.id.number.value() - 1));
  if (previous != views_.end()) {
    check_quorum(peer, previous->second, view);
  } else if (view.id.number != ViewNumber(1)) {
    // Decided, and installed by nobody but its successor's members: the chain of hashes covers it.
    if (acceptors_[view.id].empty()) fail(who + ": nobody accepted it");
  }
  if (view.id.number > newest_.id.number) newest_ = view;
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

void Invariants::on_commit(const PeerId& peer, Round round, std::uint64_t state) {
  const auto [found, fresh] = committed_.try_emplace(round, state);
  if (!fresh && found->second != state) {
    fail("peer " + peer.short_name() + ": another result for round " +
         std::to_string(round.value()) + " than another member has committed");
  }
  newest_round_ = std::max(newest_round_, round);
}

}  // namespace weft
