#include "weft/collective/verify/statement_book.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "weft/base/rng.h"
#include "weft/wire/codec.h"

namespace weft {

static Bytes named(std::string_view purpose, const ExchangeId& id) {
  return Writer().text(purpose).view(id.view).round(id.round).u8(id.exchange).take();
}

StatementBook::StatementBook(const ExchangeId& id, Rank self, Verification verification)
    : id_(id), self_(self), verification_(std::move(verification)) {
  for (auto& kind : kept_) kind.resize(verification_.members.size());
}

Statement StatementBook::make(StatementKind kind, Hash256 digest) const {
  Statement statement;
  statement.kind = kind;
  statement.by = static_cast<std::uint32_t>(self_.value());
  statement.digest = digest;
  statement.key = verification_.signer->public_key();
  statement.signature = verification_.signer->sign(statement.signed_bytes(id_));
  return statement;
}

Statement StatementBook::make_about(StatementKind kind, Rank chunk, Rank contributor) const {
  Statement statement;
  statement.kind = kind;
  statement.by = static_cast<std::uint32_t>(self_.value());
  statement.chunk = static_cast<std::uint32_t>(chunk.value());
  statement.contributor = static_cast<std::uint32_t>(contributor.value());
  statement.key = verification_.signer->public_key();
  statement.signature = verification_.signer->sign(statement.signed_bytes(id_));
  return statement;
}

// The signature itself is never sent.
Hash256 StatementBook::nonce() const {
  return sha256(verification_.signer->sign(named("weft nonce 1", id_)));
}

bool StatementBook::valid(const Statement& statement) const {
  const std::size_t members = verification_.members.size();
  if (statement.by >= members || statement.chunk >= members || statement.contributor >= members) {
    return false;
  }
  const bool about_itself = is_once(statement.kind);
  if (about_itself && (statement.chunk != 0 || statement.contributor != 0)) return false;
  if (!about_itself && statement.digest != Hash256{}) return false;
  if (statement.kind != StatementKind::kComplaint && statement.contributor != 0) return false;
  return verification_.signer->valid(verification_.members[statement.by], statement.key,
                                     statement.signed_bytes(id_), statement.signature);
}

std::optional<Statement> StatementBook::keep(const Statement& statement) {
  std::optional<Statement>& kept = kept_[index(statement.kind)][statement.by];
  if (!kept) kept = statement;
  if (kept->digest != statement.digest) return kept;
  return std::nullopt;
}

const std::optional<Statement>& StatementBook::first(StatementKind kind, Rank by) const {
  return kept_[index(kind)][static_cast<std::size_t>(by.value())];
}

std::vector<std::vector<Rank>> draw_verifiers(const ExchangeId& id,
                                              const std::vector<Hash256>& nonces, int count) {
  Sha256 hash;
  hash.update(named("weft verifiers 1", id));
  for (const Hash256& nonce : nonces) hash.update(nonce);
  const Hash256 drawn = hash.finish();
  Reader bytes("draw", drawn);
  Rng rng(bytes.u64("seed"), bytes.u64("stream"));
  const int members = static_cast<int>(nonces.size());
  std::vector<std::vector<Rank>> verifiers;
  for (int owner = 0; owner < members; ++owner) {
    std::vector<Rank> others;
    for (int rank = 0; rank < members; ++rank) {
      if (rank != owner) others.emplace_back(rank);
    }
    const auto wanted = std::min(static_cast<std::size_t>(count), others.size());
    for (std::size_t i = 0; i < wanted; ++i) {
      std::swap(others[i], others[i + rng.below(others.size() - i)]);
    }
    others.resize(wanted);
    verifiers.push_back(std::move(others));
  }
  return verifiers;
}

}  // namespace weft
