#include "weft/train/event/swarm_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::swarm_events_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

PeerId peer(std::uint8_t number) {
  PeerId id;
  id.bytes[0] = number;
  return id;
}

SwarmEvent swarm_event(SwarmEventKind kind, std::uint8_t number, std::string text) {
  SwarmEvent event;
  event.kind = kind;
  event.peer = peer(number);
  event.text = std::move(text);
  return event;
}

TEST(SwarmEvents, ALostPeerIsToldWithRoundReasonAndCost) {
  SwarmEvent left = swarm_event(SwarmEventKind::kPeerLeft, 3,
                                "peer x failed (no heartbeat for 2.0 s (limit 2.0 s))");
  left.seconds = 0.25;
  SwarmEvent view = swarm_event(SwarmEventKind::kViewChanged, 0, "view 5");
  view.round = Round(211);
  view.peers = {peer(1), peer(2)};
  SwarmEvent rerun = swarm_event(SwarmEventKind::kRoundRerun, 0, "round 212 is run again");
  rerun.round = Round(212);
  rerun.seconds = 0.9;

  GroupNews news;
  for (const SwarmEvent& event : {left, view, rerun}) news.hear(event);
  const Event told = *event_of(left, news);
  EXPECT_EQ(told.text("peer"), peer(3).short_name());
  EXPECT_EQ(told.text("reason"), "no heartbeat for 2.0 s (limit 2.0 s)");
  EXPECT_EQ(told.integer("round"), 212);
  EXPECT_EQ(told.number("seconds_lost"), 0.25);
  const Event again = *event_of(rerun, news);
  EXPECT_EQ(again.integer("members"), 2);
  EXPECT_EQ(describe(again),
            "round 212 run again by 2 (peer " + peer(3).short_name() + " left), 0.9 s lost");
  EXPECT_THAT(event_of(view, news)->list("members"),
              ElementsAre(peer(1).short_name(), peer(2).short_name()));
}

TEST(SwarmEvents, EveryToldEventIsDocumented) {
  const GroupNews news;
  for (int kind = 0; kind <= static_cast<int>(SwarmEventKind::kRemoved); ++kind) {
    SwarmEvent event = swarm_event(static_cast<SwarmEventKind>(kind), 1, "peer a left");
    event.peers = {peer(2)};
    const auto told = event_of(event, news);
    EXPECT_TRUE(!told.has_value() || is_documented(*told)) << kind;
  }
  SwarmStatus status;
  status.members.resize(2);
  status.members[1].rank = Rank(1);
  status.members[0].self = true;
  const Event peers = peers_event(status, {0.071});
  EXPECT_TRUE(is_documented(peers));
  EXPECT_THAT(peers.list("details"),
              ElementsAre("computes 71 ms a round, this peer", HasSubstr("no link, to it 0 B")));
}

TEST(SwarmEvents, BytesForPeople) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(1500), "1.5 kB");
  EXPECT_EQ(bytes_text(2.25e9), "2.2 GB");
}

}  // namespace
}  // namespace weft::swarm_events_test
