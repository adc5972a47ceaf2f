#include "weft/collective/parts/event_box.h"

#include <gtest/gtest.h>

namespace weft::event_box_test {
namespace {

SwarmEvent event_of(SwarmEventKind kind, const char* text) {
  SwarmEvent event;
  event.kind = kind;
  event.text = text;
  return event;
}

TEST(EventBox, AFullOneLosesLinksAndRefusalsBeforeAnythingElse) {
  std::vector<SwarmEvent> box;
  const auto texts = [&] {
    std::string all;
    for (const SwarmEvent& event : box) all += event.text;
    return all;
  };
  using enum SwarmEventKind;
  keep_event(box, event_of(kPeerLeft, "a"), 4);
  keep_event(box, event_of(kLinkRefused, "b"), 4);
  keep_event(box, event_of(kQuorumLost, "c"), 4);
  keep_event(box, event_of(kLinkUp, "d"), 4);
  EXPECT_EQ(texts(), "abcd");
  EXPECT_EQ(keep_event(box, event_of(kJoinRefused, "e"), 4).text, "e");
  EXPECT_EQ(texts(), "acde");
  keep_event(box, event_of(kPeerJoined, "f"), 4);
  EXPECT_EQ(texts(), "acef");
  keep_event(box, event_of(kPeerJoined, "g"), 4);
  EXPECT_EQ(texts(), "acfg");
  // Only then the oldest.
  keep_event(box, event_of(kLinkUp, "h"), 4);
  EXPECT_EQ(texts(), "cfgh");
}

}  // namespace
}  // namespace weft::event_box_test
