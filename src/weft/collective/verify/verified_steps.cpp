// VerifiedButterfly: its steps, from the commitment to the last verdict.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "weft/collective/verify/verified_butterfly.h"

namespace weft {

void VerifiedButterfly::advance() {
  commit();
  if (all_committed()) {
    begin_sending();
    measure();
    select();
    combine();
    echo();
    draw();
    finish();
  }
  for_others([this](Rank to) { pump(to); });
}

void VerifiedButterfly::commit() {
  if (!contributed() || !commitment_.empty()) return;
  CommitmentMessage message;
  message.nonce_hash = sha256(book_.nonce());
  const std::span<const float> values = std::as_const(*input_).span();
  for (int rank = 0; rank < options_.size; ++rank) {
    message.inputs.push_back(inputs_.digest(options_.rank, Rank(rank), values));
  }
  message.statement = book_.make(StatementKind::kCommitment, message.digest());
  book_.keep(message.statement);
  commitment_ = message.encode();
  inputs_.commit(options_.rank, message.inputs);
  inputs_.put(options_.rank, options_.rank, table_.taken_from(values, options_.rank));
  peer(options_.rank).commitment = std::move(message);
  enqueue_all(CollectiveOp::kCommitment, 0, commitment_);
}

bool VerifiedButterfly::all_committed() const {
  return std::ranges::all_of(peers_, [](const Peer& each) { return each.commitment.has_value(); });
}

void VerifiedButterfly::begin_sending() {
  if (std::exchange(sending_, true)) return;
  for_others([this](Rank to) {
    for (const std::uint32_t each : table_.segments_of(to)) {
      enqueue(to, {CollectiveOp::kReduce, each, own_piece(each)});
    }
    serve_requests(to);
  });
  for (const Statement& complaint : complaints_) hand_on(complaint);
}

void VerifiedButterfly::measure() {
  const Rank self = options_.rank;
  if (!measures_ || !table_.owns(self) || peer(self).table || !inputs_.has_all(self)) return;
  Distances table = table_.measure(self, inputs_.all(self));
  on_measured(table);
  const ByteSpan values = as_bytes(std::span<const double>(table.values()));
  TableMessage message;
  message.values.assign(values.begin(), values.end());
  message.statement = book_.make(StatementKind::kTable, sha256(values));
  book_.keep(message.statement);
  own_table_ = message.encode();
  peer(self).table = std::move(table);
  enqueue_all(CollectiveOp::kDistances, 0, own_table_);
}

void VerifiedButterfly::select() {
  if (weights_) return;
  Distances sum(options_.size);
  for (int rank = 0; rank < options_.size; ++rank) {
    if (!table_.owns(Rank(rank))) continue;
    if (!peer(Rank(rank)).table) return;
    sum.add(*peer(Rank(rank)).table);
  }
  weights_ = options_.aggregator.select(sum, options_.aggregate_round);
}

void VerifiedButterfly::combine() {
  const Rank self = options_.rank;
  if (!weights_ || !table_.owns(self) || !own_result_.empty() || !inputs_.has_all(self)) return;
  std::vector<float> values(table_.elements_of(self));
  options_.aggregator.combine(inputs_.all(self), *weights_, options_.aggregate_round, values);
  on_combined(values);
  table_.put_into(result_->span(), self, values);
  const Statement statement =
      book_.make(StatementKind::kResult, sha256(as_bytes(std::span<const float>(values))));
  book_.keep(statement);
  own_result_ = StatementsMessage{{statement}}.encode();
  Chunk& own = chunk(self);
  own.whole = own.repeated = own.right = true;
  for_others([&](Rank to) {
    for (const std::uint32_t each : table_.segments_of(self)) {
      enqueue(to, {CollectiveOp::kGather, each, finished_piece(each)});
    }
  });
  enqueue_all(CollectiveOp::kStatements, 0, own_result_);
}

void VerifiedButterfly::check_result(Rank owner) {
  Chunk& each = chunk(owner);
  const std::optional<Statement>& result = book_.first(StatementKind::kResult, owner);
  if (!result || each.whole || each.spoilt) return;
  if (each.here < table_.segments_of(owner).size()) return;
  if (table_.digest(std::as_const(*result_).span(), owner) == result->digest) {
    each.whole = true;
    return;
  }
  // What it has signed may be right all the same: this member finds out by itself.
  each.spoilt = each.wanted = true;
  // Its values are needed, even where its outcome is known.
  each.repeated = false;
  find(owner,
       fmt::format("sent another chunk of round {} than it signed", options_.id.round.value()));
}

bool VerifiedButterfly::everything_signed() const {
  for (int rank = 0; rank < options_.size; ++rank) {
    const Rank owner(rank);
    if (!table_.owns(owner)) continue;
    if (measures_ && !peer(owner).table) return false;
    if (!book_.first(StatementKind::kResult, owner)) return false;
  }
  return true;
}

// By kind, then by rank; the same at all members.
static std::vector<Statement> all_statements(const StatementBook& book, int members) {
  std::vector<Statement> statements;
  for (const StatementKind kind : kOnceKinds) {
    for (int rank = 0; rank < members; ++rank) {
      if (const auto& each = book.first(kind, Rank(rank))) statements.push_back(*each);
    }
  }
  return statements;
}

void VerifiedButterfly::echo() {
  if (!own_echo_.empty() || !everything_signed()) return;
  EchoMessage message;
  message.nonce = book_.nonce();
  message.statements = all_statements(book_, options_.size);
  own_echo_ = message.encode();
  peer(options_.rank).echo = std::move(message);
  enqueue_all(CollectiveOp::kEcho, 0, own_echo_);
}

// Whether the nonce is the right one. What the echo contradicts is found on the way.
bool VerifiedButterfly::echo_holds(Rank from) {
  const EchoMessage& theirs = *peer(from).echo;
  if (sha256(theirs.nonce) != peer(from).commitment->nonce_hash) {
    find(from, fmt::format("revealed another nonce of round {} than it committed to",
                           options_.id.round.value()));
    return false;
  }
  for (const Statement& statement : theirs.statements) {
    if (!is_once(statement.kind) || statement.by >= peers_.size()) continue;
    const auto& own = book_.first(statement.kind, Rank(static_cast<int>(statement.by)));
    // Only a contradiction counts, and only one with a signature.
    if (!own || own->digest == statement.digest || !book_.valid(statement)) continue;
    contradict(*own, statement);
  }
  return true;
}

void VerifiedButterfly::draw() {
  if (!verifiers_.empty() || void_ || own_echo_.empty()) return;
  std::vector<Hash256> nonces;
  for (int rank = 0; rank < options_.size; ++rank) {
    if (!peer(Rank(rank)).echo) return;
  }
  for (int rank = 0; rank < options_.size; ++rank) {
    if (!echo_holds(Rank(rank))) {
      peer(Rank(rank)).echo.reset();
      return;
    }
    nonces.push_back(peer(Rank(rank)).echo->nonce);
  }
  if (void_) return;
  verifiers_ = draw_verifiers(options_.id, nonces, options_.verification.verifiers);
  for (std::size_t owned = 0; owned < verifiers_.size(); ++owned) {
    if (std::ranges::find(verifiers_[owned], options_.rank) != verifiers_[owned].end()) {
      state_[owned].wanted = true;
    }
  }
}

void VerifiedButterfly::finish() {
  if (verifiers_.empty()) return;
  for (int rank = 0; rank < options_.size; ++rank) repeat(Rank(rank));
  if (void_ || complete_) return;
  for (int rank = 0; rank < options_.size; ++rank) {
    if (!settled(Rank(rank))) return;
  }
  complete_ = true;
}

}  // namespace weft
