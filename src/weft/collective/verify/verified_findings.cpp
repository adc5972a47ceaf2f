// VerifiedButterfly: chunks that are repeated, and what follows from the outcome.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "weft/collective/verify/verified_butterfly.h"

namespace weft {

// --- Inputs.

void VerifiedButterfly::want_input(Rank chunk_owner, Rank contributor) {
  if (inputs_.has(chunk_owner, contributor)) return;
  if (contributor == options_.rank) {
    inputs_.put(chunk_owner, contributor,
                table_.taken_from(std::as_const(*input_).span(), chunk_owner));
    return;
  }
  if (!wanted_inputs_.insert({chunk_owner.value(), contributor.value()}).second) return;
  enqueue(contributor,
          {CollectiveOp::kInputRequest, static_cast<std::uint32_t>(chunk_owner.value()), {}});
}

void VerifiedButterfly::on_input(Rank chunk_owner, Rank contributor) {
  for (const Statement& complaint : complaints_) {
    if (complaint.chunk == static_cast<std::uint32_t>(chunk_owner.value()) &&
        complaint.contributor == static_cast<std::uint32_t>(contributor.value())) {
      hand_on(complaint);
    }
  }
}

void VerifiedButterfly::on_false_input(Rank chunk_owner, Rank contributor) {
  find(contributor, fmt::format("sent an input of round {} that is not what it committed to",
                                options_.id.round.value()));
  if (!false_inputs_.insert({chunk_owner.value(), contributor.value()}).second) return;
  // Whoever has the right one may send it.
  wanted_inputs_.insert({chunk_owner.value(), contributor.value()});
  spread({book_.make_about(StatementKind::kComplaint, chunk_owner, contributor)});
}

void VerifiedButterfly::take_complaint(const Statement& statement) {
  const int complaints_max = 2 * options_.size;
  const Rank by(static_cast<int>(statement.by));
  const Rank contributor(static_cast<int>(statement.contributor));
  const Rank chunk_owner(static_cast<int>(statement.chunk));
  if (by == options_.rank || !table_.owns(chunk_owner) || contributor == by) return;
  if (std::ranges::find(complaints_, statement) != complaints_.end()) return;
  if (++peer(by).complaints > complaints_max) return;
  complaints_.push_back(statement);
  spread({statement});
  // Asked for once there is a commitment to check it against, and the contributor can give it.
  if (contributor != options_.rank && sending_) want_input(chunk_owner, contributor);
  hand_on(statement);
}

void VerifiedButterfly::hand_on(const Statement& complaint) {
  const Rank contributor(static_cast<int>(complaint.contributor));
  const Rank chunk_owner(static_cast<int>(complaint.chunk));
  if (!sending_) return;
  if (contributor != options_.rank && !inputs_.has(chunk_owner, contributor)) {
    return want_input(chunk_owner, contributor);
  }
  enqueue_input(Rank(static_cast<int>(complaint.by)), chunk_owner, contributor);
}

// --- Repeated chunks.

void VerifiedButterfly::repeat(Rank owner) {
  Chunk& each = chunk(owner);
  if (!each.wanted || !table_.owns(owner)) return;
  if (each.repeated) return conclude(owner, {}, each.right);
  for (int rank = 0; rank < options_.size; ++rank) want_input(owner, Rank(rank));
  if (!inputs_.has_all(owner)) return;
  const std::vector<std::span<const float>> inputs = inputs_.all(owner);
  bool right = true;
  if (measures_) {
    const Distances table = table_.measure(owner, inputs);
    const Hash256 digest = sha256(as_bytes(table.values()));
    right = digest == book_.first(StatementKind::kTable, owner)->digest;
  }
  std::vector<float> values(table_.elements_of(owner));
  options_.aggregator.combine(inputs, *weights_, options_.aggregate_round, values);
  const std::span<const float> repeated(values);
  right = right && sha256(as_bytes(repeated)) == book_.first(StatementKind::kResult, owner)->digest;
  each.repeated = true;
  each.right = judges(owner, right);
  // A contributor that gave others another input is still to be found with it.
  if (owner != options_.rank && complaints_.empty()) inputs_.forget_chunk(owner);
  conclude(owner, repeated, each.right);
}

void VerifiedButterfly::conclude(Rank owner, std::span<const float> values, bool right) {
  Chunk& each = chunk(owner);
  const std::uint64_t round = options_.id.round.value();
  each.wanted = false;
  if (!right) {
    find(owner, fmt::format("falsified its chunk of round {}: the inputs that were committed to "
                            "give another one",
                            round));
    void_ = true;
    if (!each.said_false[index(options_.rank)]) {
      each.said_false[index(options_.rank)] = true;
      spread({book_.make_about(StatementKind::kFalse, owner)});
    }
    return;
  }
  if (each.spoilt && !each.whole && !values.empty()) {
    table_.put_into(result_->span(), owner, values);
    each.whole = true;
  }
  for (int rank = 0; rank < options_.size; ++rank) {
    if (!each.said_false[static_cast<std::size_t>(rank)]) continue;
    find(Rank(rank), fmt::format("accused peer {} falsely of its chunk of round {}",
                                 options_.verification.members[index(owner)].short_name(), round));
  }
  if (owner == options_.rank || each.said_right[index(options_.rank)]) return;
  each.said_right[index(options_.rank)] = true;
  const Bytes verdict =
      StatementsMessage{{book_.make_about(StatementKind::kRight, owner)}}.encode();
  own_verdicts_.push_back(verdict);
  enqueue_all(CollectiveOp::kStatements, 0, verdict);
}

// A member that has not accused anybody falsely needs no second look at its accusation: everybody
// looks for himself.
void VerifiedButterfly::take_false(const Statement& statement) {
  const Rank owner(static_cast<int>(statement.chunk));
  if (statement.by == static_cast<std::uint32_t>(options_.rank.value())) return;
  if (!table_.owns(owner)) return;
  Chunk& each = chunk(owner);
  if (each.said_false[statement.by]) return;
  each.said_false[statement.by] = true;
  each.wanted = true;
  spread({statement});
}

bool VerifiedButterfly::settled(Rank owner) const {
  if (!table_.owns(owner)) return true;
  const Chunk& each = chunk(owner);
  if (!each.whole || each.wanted) return false;
  return std::ranges::all_of(verifiers_[index(owner)], [&](Rank verifier) {
    // An accusation that proved false counts like none, but it ends the wait.
    return each.said_right[index(verifier)] ||
           (each.said_false[index(verifier)] && each.repeated && each.right);
  });
}

Rank VerifiedButterfly::repeat_waits_for() const {
  for (const auto& [chunk_number, contributor] : wanted_inputs_) {
    const bool needed = state_[static_cast<std::size_t>(chunk_number)].wanted ||
                        false_inputs_.contains({chunk_number, contributor});
    if (needed && !inputs_.has(Rank(chunk_number), Rank(contributor))) return Rank(contributor);
  }
  return options_.rank;
}

// --- What all should know.

void VerifiedButterfly::contradict(const Statement& first, const Statement& second) {
  static constexpr const char* kNames[] = {"commitments to", "distances of", "results of"};
  const Rank by(static_cast<int>(first.by));
  void_ = true;
  // One proof is enough, however many statements it signs.
  if (!contradicted_.insert({first.kind, first.by}).second) return;
  find(by, fmt::format("signed two different {} round {}",
                       kNames[static_cast<std::size_t>(first.kind)], options_.id.round.value()));
  spread({first, second});
}

void VerifiedButterfly::spread(std::vector<Statement> statements) {
  const Bytes body = StatementsMessage{std::move(statements)}.encode();
  if (!spread_before_.insert(body).second) return;
  spread_.push_back(body);
  enqueue_all(CollectiveOp::kStatements, 0, body);
}

void VerifiedButterfly::find(Rank member, std::string text) {
  if (member == options_.rank || !found_.insert({member.value(), text}).second) return;
  findings_.push_back({member, std::move(text)});
}

}  // namespace weft
