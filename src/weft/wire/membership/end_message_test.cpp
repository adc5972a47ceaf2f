#include "weft/wire/end_message.h"

#include <gtest/gtest.h>

#include "weft/wire/codec.h"
#include "weft/wire/core/message_checks.h"

namespace weft::end_message_test {
namespace {

TEST(EndMessage, SurvivesARoundTripAndNothingElseDecodes) {
  check_message(RunOverMessage{Round(81), 8000});
  check_message(RunOverMessage{Round(81), 0});
}

TEST(EndMessage, KeepsEveryFieldAndRefusesWhatNoMemberServes) {
  const Result<RunOverMessage> got =
      RunOverMessage::decode(RunOverMessage{Round(81), kServesForMsMax}.encode());
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(got->round, Round(81));
  EXPECT_EQ(got->serves_for_ms, kServesForMsMax);
  const Bytes longer = Writer().round(Round(81)).u32(kServesForMsMax + 1).take();
  EXPECT_EQ(RunOverMessage::decode(longer).status().message(),
            "run_over.serves_for_ms: expected 0 to 60000");
}

}  // namespace
}  // namespace weft::end_message_test
