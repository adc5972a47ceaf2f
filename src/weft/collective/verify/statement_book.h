// StatementBook: what the members of a round have signed: makes, checks and compares statements.
//
// A member signs one commitment, one table and one result in a round. Two that differ prove that it
// lies, to everybody. Where it stands: VerifiedButterfly owns one. Threads: one owner. Fails:
// never.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "weft/base/hash.h"
#include "weft/collective/reduce/collective.h"
#include "weft/collective/verify/signer.h"
#include "weft/wire/verify_message.h"

namespace weft {

// A statement is of one of these kinds only once in a round and member.
inline constexpr std::array kOnceKinds = {StatementKind::kCommitment, StatementKind::kTable,
                                          StatementKind::kResult};
inline bool is_once(StatementKind kind) { return kind <= StatementKind::kResult; }

class StatementBook {
 public:
  StatementBook(const ExchangeId& id, Rank self, Verification verification);

  // This member's, signed.
  Statement make(StatementKind kind, Hash256 digest) const;
  Statement make_about(StatementKind kind, Rank chunk, Rank contributor = Rank(0)) const;
  // Only this member can know the nonce before it is sent. It is the same each time.
  Hash256 nonce() const;

  // It is of a member of the round, and has its signature.
  bool valid(const Statement& statement) const;
  // Keeps the first of each member and once kind. Gives that first one where this one
  // contradicts it. REQUIRES: valid().
  std::optional<Statement> keep(const Statement& statement);
  const std::optional<Statement>& first(StatementKind kind, Rank by) const;

 private:
  static std::size_t index(StatementKind kind) { return static_cast<std::size_t>(kind); }

  const ExchangeId id_;
  const Rank self_;
  const Verification verification_;
  std::array<std::vector<std::optional<Statement>>, kOnceKinds.size()> kept_;
};

// The members that repeat each chunk, by owner: `count` of them, never the owner. All nonces
// decide; each member committed to its own before it received anything, and sent it after all
// chunks were signed.
std::vector<std::vector<Rank>> draw_verifiers(const ExchangeId& id,
                                              const std::vector<Hash256>& nonces, int count);

}  // namespace weft
