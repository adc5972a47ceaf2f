#include "weft/wire/verify_message.h"

#include <gtest/gtest.h>

#include "weft/wire/codec.h"
#include "weft/wire/core/message_checks.h"

namespace weft::verify_message_test {
namespace {

Statement statement(StatementKind kind) {
  Statement out;
  out.kind = kind;
  out.by = 1;
  out.chunk = 2;
  out.contributor = 255;
  out.digest.fill(3);
  out.key.fill(4);
  out.signature.fill(5);
  return out;
}

TEST(VerifyMessage, EachOneSurvivesARoundTripAndNothingElseDecodes) {
  check_message(statement(StatementKind::kComplaint));
  check_message(CommitmentMessage{statement(StatementKind::kCommitment), {1}, {{2}, {3}}});
  check_message(TableMessage{statement(StatementKind::kTable), {1, 2, 3}});
  check_message(EchoMessage{{1}, {statement(StatementKind::kResult)}});
  check_message(StatementsMessage{{statement(StatementKind::kRight)}});
}

TEST(VerifyMessage, RefusesWhatIsBeyondItsBound) {
  Bytes encoded = statement(StatementKind::kRight).encode();
  encoded[0] = 6;
  EXPECT_EQ(Statement::decode(encoded).status().code(), Code::kCorrupt) << "kind";
  for (const std::size_t rank : {1U, 5U, 9U}) {
    encoded = statement(StatementKind::kRight).encode();
    encoded[rank + 1] = 1;
    EXPECT_EQ(Statement::decode(encoded).status().code(), Code::kCorrupt) << "rank " << rank;
  }
  const Bytes many = Writer().u32(kStatementsMax + 1).take();
  EXPECT_EQ(StatementsMessage::decode(many).status().code(), Code::kCorrupt);
}

TEST(VerifyMessage, SignedBytesDifferInEachFieldAndInTheRound) {
  const ExchangeId id{ViewId{ViewNumber(3), {}}, Round(7)};
  const Statement one = statement(StatementKind::kResult);
  const Bytes bytes = one.signed_bytes(id);
  Statement other = one;
  other.kind = StatementKind::kTable;
  EXPECT_NE(other.signed_bytes(id), bytes);
  other = one;
  other.by = 7;
  EXPECT_NE(other.signed_bytes(id), bytes);
  other = one;
  other.chunk = 7;
  EXPECT_NE(other.signed_bytes(id), bytes);
  other = one;
  other.contributor = 7;
  EXPECT_NE(other.signed_bytes(id), bytes);
  other = one;
  other.digest[31] ^= 1U;
  EXPECT_NE(other.signed_bytes(id), bytes);
  EXPECT_NE(one.signed_bytes({id.view, Round(8)}), bytes);
  EXPECT_NE(one.signed_bytes({ViewId{ViewNumber(4), {}}, id.round}), bytes);
}

}  // namespace
}  // namespace weft::verify_message_test
