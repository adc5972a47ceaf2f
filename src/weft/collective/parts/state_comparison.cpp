#include "weft/collective/parts/state_comparison.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace weft {

static constexpr std::size_t kRoundsKept = 4;

void StateComparison::on_view(const View& view) {
  view_ = view;
  for (auto& [round, entry] : rounds_) {
    std::erase_if(entry.theirs, [&](const auto& each) { return !view.contains(each.first); });
  }
}

void StateComparison::own(Round round, StateHash hash) {
  if (hash.tensors.size() > kTensorHashesMax) hash.tensors.resize(kTensorHashesMax);
  for (const Member& member : view_.members) {
    if (member.id == self_) continue;
    messages_.push_back({member.id, {{view_.id, round}, hash.total, {}}});
  }
  last_own_ = round;
  Entry& entry = rounds_[round];
  entry.own = std::move(hash);
  compare(round, entry);
  while (rounds_.size() > kRoundsKept) rounds_.erase(rounds_.begin());
}

void StateComparison::theirs(const PeerId& from, const StateHashMessage& message) {
  const Round round = message.id.round;
  // A member can be one round ahead at most: it needs this one's part for any more.
  const bool in_window =
      round.value() <= last_own_.value() + 1 && round.value() + kRoundsKept > last_own_.value();
  if (!view_.contains(from) || !in_window) return;
  Entry& entry = rounds_[round];
  Theirs& theirs = entry.theirs[from];
  theirs.total = message.total;
  if (!message.tensors.empty()) theirs.tensors = message.tensors;
  compare(round, entry);
  while (rounds_.size() > kRoundsKept) rounds_.erase(rounds_.begin());
}

void StateComparison::compare(Round round, Entry& entry) {
  if (!entry.own) return;
  for (auto& [peer, theirs] : entry.theirs) {
    if (theirs.total == entry.own->total || theirs.reported) continue;
    if (!theirs.details_sent) {
      theirs.details_sent = true;
      StateHashMessage message{{view_.id, round}, entry.own->total, {}};
      for (const TensorHash& tensor : entry.own->tensors) message.tensors.push_back(tensor.hash);
      messages_.push_back({peer, std::move(message)});
    }
    // A state without named parts has no details to wait for.
    if (!theirs.tensors.empty() || entry.own->tensors.empty()) {
      report(round, entry, peer, theirs);
      theirs.reported = !differences_.empty() && differences_.back().peer == peer &&
                        differences_.back().round == round;
    }
  }
}

void StateComparison::report(Round round, const Entry& entry, const PeerId& peer,
                             const Theirs& theirs) {
  std::size_t same = 1;
  std::map<Hash128, std::size_t> others;
  for (const auto& [id, each] : entry.theirs) {
    if (each.total == entry.own->total) {
      ++same;
    } else {
      ++others[each.total];
    }
  }
  const std::size_t members = view_.members.size();
  const bool all_here = entry.theirs.size() + 1 >= members;
  StateDifference difference;
  difference.peer = peer;
  difference.round = round;
  difference.peer_is_wrong = 2 * same > members;
  difference.self_is_wrong =
      !difference.peer_is_wrong && (all_here || std::ranges::any_of(others, [&](const auto& group) {
                                      return 2 * group.second > members;
                                    }));
  // Not enough is known yet to say which one is wrong.
  if (!difference.peer_is_wrong && !difference.self_is_wrong) return;
  difference.text = fmt::format(
      "round {}: the state of peer {} differs from this member's ({}); {} of {} members "
      "agree with this one",
      round.value(), peer.short_name(), describe(*entry.own, theirs), same, members);
  differences_.push_back(std::move(difference));
}

std::string StateComparison::describe(const StateHash& own, const Theirs& theirs) const {
  for (std::size_t i = 0; i < std::min(own.tensors.size(), theirs.tensors.size()); ++i) {
    if (own.tensors[i].hash != theirs.tensors[i]) {
      return fmt::format("first in tensor '{}'", own.tensors[i].name);
    }
  }
  if (own.tensors.size() != theirs.tensors.size()) {
    return fmt::format("{} tensors against {}", theirs.tensors.size(), own.tensors.size());
  }
  return "in no single tensor";
}

std::vector<StateHashOut> StateComparison::take_messages() { return std::exchange(messages_, {}); }

std::vector<StateDifference> StateComparison::take_differences() {
  return std::exchange(differences_, {});
}

}  // namespace weft
