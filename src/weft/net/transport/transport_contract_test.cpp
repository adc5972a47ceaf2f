#include "weft/net/testing/transport_contract.h"

namespace weft {

namespace {

constexpr std::uint8_t kData = 0x30;
constexpr std::uint8_t kMarker = 0x31;

Bytes pattern(std::size_t size, std::size_t seed) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<std::uint8_t>((i * 131 + (i >> 8U) * 7 + seed * 29) & 0xffU);
  }
  return bytes;
}

}  // namespace

void TransportContract::SetUp() {
  world_ = GetParam().make();
  ASSERT_NE(world_, nullptr);
  for (int peer = 0; peer < TransportWorld::kPeers; ++peer) {
    transport(peer).set_handler(handler(peer));
  }
}

void TransportContract::TearDown() {
  world_.reset();
  for (const RecordingHandler& handler : handlers_) EXPECT_EQ(handler.calls_inside_call, 0);
}

void TransportContract::connect(int from, int to) {
  call(from, [&](Transport& transport) { transport.connect(world_->address(to)); });
}

Status TransportContract::send(int from, int to, Lane lane, std::uint8_t type, Bytes head,
                               Bytes body) {
  return call(from, [&](Transport& transport) {
    return transport.send(id(to), lane, {type, std::move(head), SharedBytes(std::move(body))});
  });
}

void TransportContract::link(int from, int to) {
  connect(from, to);
  ASSERT_TRUE(run_until([&] {
    return transport(from).linked(id(to)) && transport(to).linked(id(from)) &&
           world_->stands(from, to);
  })) << (handler(from).downs.empty() ? "" : handler(from).downs.back().why.to_string());
}

TEST_P(TransportContract, LinkNamesBothEndsAndSharesASecret) {
  EXPECT_EQ(transport(0).self(), id(0));
  link(0, 1);
  ASSERT_EQ(handler(0).ups.size(), 1U);
  ASSERT_EQ(handler(1).ups.size(), 1U);
  EXPECT_EQ(handler(0).ups[0].peer, id(1));
  EXPECT_EQ(handler(1).ups[0].peer, id(0));
  EXPECT_FALSE(handler(0).ups[0].inbound);
  EXPECT_TRUE(handler(1).ups[0].inbound);
  EXPECT_EQ(handler(0).ups[0].exporter, handler(1).ups[0].exporter);
  EXPECT_FALSE(transport(0).linked(id(2)));
}

TEST_P(TransportContract, ASecondConnectDoesNothing) {
  connect(0, 1);
  connect(0, 1);
  link(0, 1);
  connect(0, 1);
  world_->settle();
  EXPECT_EQ(handler(0).ups.size(), 1U);
  EXPECT_EQ(handler(1).ups.size(), 1U);
  EXPECT_TRUE(handler(0).downs.empty());
}

TEST_P(TransportContract, FramesOfALaneArriveWholeInOrderOnce) {
  link(0, 1);
  const std::size_t bodies[] = {
      0, 1, 11, 12, 13, 4095, 4096, 4097, 16384, 262144, kFrameBodyBytesMax};
  const std::size_t heads[] = {0, 1, 100, 4096, kFrameHeadBytesMax};
  std::size_t sent = 0;
  for (const Lane lane : {Lane::kControl, Lane::kBulk}) {
    for (const std::size_t body : bodies) {
      for (const std::size_t head : heads) {
        for (const auto& [from, to] : {std::pair(0, 1), std::pair(1, 0)}) {
          ASSERT_TRUE(send(from, to, lane, kData, pattern(head, sent), pattern(body, sent)).ok());
        }
        ++sent;
      }
    }
  }
  ASSERT_TRUE(run_until(
      [&] { return handler(0).frames.size() == sent && handler(1).frames.size() == sent; }));
  for (const int peer : {0, 1}) {
    std::size_t next = 0;
    for (const Lane lane : {Lane::kControl, Lane::kBulk}) {
      for (const RecordingHandler::Received& frame : handler(peer).frames) {
        if (frame.lane != lane) continue;
        const std::size_t head = heads[next % std::size(heads)];
        const std::size_t body = bodies[next / std::size(heads) % std::size(bodies)];
        EXPECT_EQ(frame.from, id(1 - peer));
        EXPECT_EQ(frame.type, kData);
        ASSERT_TRUE(frame.head == pattern(head, next)) << next;
        ASSERT_TRUE(frame.body == pattern(body, next)) << next;
        ++next;
      }
    }
    EXPECT_EQ(next, sent);
  }
}

TEST_P(TransportContract, ABulkBodyIsReceivedWhereTheHandlerWantsIt) {
  handler(1).lent = Bytes(300000);
  link(0, 1);
  ASSERT_TRUE(send(0, 1, Lane::kBulk, kData, {1}, pattern(300000, 1)).ok());
  ASSERT_TRUE(run_until([&] { return handler(1).frames.size() == 1; }));
  EXPECT_EQ(handler(1).bodies_in_place, 1);
  EXPECT_TRUE(handler(1).frames[0].body == pattern(300000, 1));
}

TEST_P(TransportContract, RefusesWhatCannotBeSent) {
  EXPECT_EQ(send(0, 1, Lane::kBulk, kData, {}).code(), Code::kUnavailable);
  link(0, 1);
  for (const std::uint8_t type : {std::uint8_t{0}, std::uint8_t{1}, std::uint8_t{0x0f}}) {
    EXPECT_EQ(send(0, 1, Lane::kControl, type, {}).code(), Code::kInvalidArgument);
  }
  EXPECT_EQ(send(0, 1, Lane::kControl, kData, Bytes(kFrameHeadBytesMax + 1)).code(),
            Code::kInvalidArgument);
  EXPECT_EQ(send(0, 1, Lane::kBulk, kData, {}, Bytes(kFrameBodyBytesMax + 1)).code(),
            Code::kInvalidArgument);
  ASSERT_TRUE(send(0, 1, Lane::kControl, kMarker, {}).ok());
  ASSERT_TRUE(run_until([&] { return handler(1).frames.size() == 1; }));
}

TEST_P(TransportContract, AConnectThatFailsIsReportedOnce) {
  call(0, [&](Transport& transport) { transport.connect({id(1), {world_->dead_endpoint()}}); });
  ASSERT_TRUE(run_until([&] { return !handler(0).downs.empty(); }));
  world_->settle();
  ASSERT_EQ(handler(0).downs.size(), 1U);
  EXPECT_EQ(handler(0).downs[0].peer, id(1));
  EXPECT_FALSE(handler(0).downs[0].why.ok());
  EXPECT_TRUE(handler(0).ups.empty());
  // It may be tried again, and elsewhere.
  PeerAddress address = world_->address(1);
  address.endpoints.insert(address.endpoints.begin(), world_->dead_endpoint());
  if (GetParam().name != "sim") {
    call(0, [&](Transport& transport) { transport.connect(address); });
    EXPECT_TRUE(run_until([&] { return transport(0).linked(id(1)); }));
  }
}

TEST_P(TransportContract, APeerUnderAnotherNameIsNotLinked) {
  call(0, [&](Transport& transport) { transport.connect({id(2), world_->address(1).endpoints}); });
  ASSERT_TRUE(run_until([&] { return !handler(0).downs.empty(); }));
  EXPECT_TRUE(handler(0).ups.empty());
  EXPECT_TRUE(handler(1).ups.empty());
  EXPECT_EQ(handler(0).downs[0].peer, id(2));
}

TEST_P(TransportContract, CloseTellsTheReasonAfterQueuedControlFrames) {
  link(0, 1);
  for (std::uint8_t i = 0; i < 50; ++i) {
    ASSERT_TRUE(send(0, 1, Lane::kControl, kData, {i}).ok());
  }
  call(0, [&](Transport& transport) { transport.close(id(1), aborted("enough of you")); });
  EXPECT_FALSE(transport(0).linked(id(1)));
  EXPECT_EQ(send(0, 1, Lane::kControl, kData, {}).code(), Code::kUnavailable);
  ASSERT_TRUE(
      run_until([&] { return handler(0).downs.size() == 1 && handler(1).downs.size() == 1; }));
  EXPECT_EQ(handler(0).downs[0].why.message(), "enough of you");
  EXPECT_NE(handler(1).downs[0].why.message().find("enough of you"), std::string::npos);
  EXPECT_EQ(handler(1).downs[0].why.code(), Code::kAborted);
  ASSERT_EQ(handler(1).frames.size(), 50U);
  EXPECT_EQ(handler(1).frames.back().head, Bytes{49});
  // And a new link may follow at once, from either side.
  link(1, 0);
  ASSERT_TRUE(send(0, 1, Lane::kBulk, kMarker, {}).ok());
  EXPECT_TRUE(run_until([&] { return handler(1).frames.size() == 51; }));
}

TEST_P(TransportContract, TwoDialsThatMeetLeaveOneLink) {
  for (std::size_t turn = 1; turn <= 10; ++turn) {
    connect(0, 1);
    connect(1, 0);
    ASSERT_TRUE(run_until([&] { return transport(0).linked(id(1)) && transport(1).linked(id(0)); }))
        << turn;
    for (const auto& [from, to] : {std::pair(0, 1), std::pair(1, 0)}) {
      ASSERT_TRUE(send(from, to, Lane::kBulk, kMarker, {}).ok());
    }
    ASSERT_TRUE(run_until([&] {
      return handler(0).frames.size() == turn && handler(1).frames.size() == turn;
    })) << turn;
    world_->settle();
    ASSERT_EQ(handler(0).ups.size(), turn);
    ASSERT_EQ(handler(1).ups.size(), turn);
    EXPECT_EQ(handler(0).downs.size(), turn - 1);
    call(0, [&](Transport& transport) { transport.close(id(1), aborted("again")); });
    ASSERT_TRUE(run_until(
        [&] { return handler(0).downs.size() == turn && handler(1).downs.size() == turn; }));
  }
}

TEST_P(TransportContract, APeerThatVanishesTakesOnlyItsOwnLinksDown) {
  link(0, 1);
  link(0, 2);
  link(1, 2);
  world_->kill(2);
  ASSERT_TRUE(
      run_until([&] { return handler(0).downs.size() == 1 && handler(1).downs.size() == 1; }));
  EXPECT_EQ(handler(0).downs[0].peer, id(2));
  EXPECT_EQ(handler(1).downs[0].peer, id(2));
  EXPECT_EQ(handler(0).downs[0].why.code(), Code::kUnavailable);
  EXPECT_FALSE(transport(0).linked(id(2)));
  ASSERT_TRUE(send(0, 1, Lane::kBulk, kMarker, {}).ok());
  EXPECT_TRUE(run_until([&] { return handler(1).frames.size() == 1; }));
}

TEST_P(TransportContract, AFullQueueDrainsAndSaysSo) {
  link(0, 1);
  const Bytes body = pattern(kFrameBodyBytesMax, 3);
  std::size_t sent = 0;
  while (sent < 64) {
    ASSERT_TRUE(send(0, 1, Lane::kBulk, kData, {static_cast<std::uint8_t>(sent)}, body).ok());
    ++sent;
  }
  const bool was_full = transport(0).queued_bytes(id(1), Lane::kBulk) > 4 * kFrameBodyBytesMax;
  EXPECT_EQ(transport(0).queued_bytes(id(1), Lane::kControl), 0U);
  ASSERT_TRUE(run_until([&] { return handler(1).frames.size() == sent; }));
  EXPECT_EQ(transport(0).queued_bytes(id(1), Lane::kBulk), 0U);
  if (was_full) {
    EXPECT_FALSE(handler(0).writable.empty());
  }
}

TEST_P(TransportContract, CancelForgetsWhatWasNotSent) {
  link(0, 1);
  const Bytes body = pattern(kFrameBodyBytesMax, 4);
  for (std::uint8_t i = 0; i < 64; ++i) {
    ASSERT_TRUE(send(0, 1, Lane::kBulk, kData, {i}, body).ok());
  }
  transport(0).cancel_bulk(id(1));
  EXPECT_LE(transport(0).queued_bytes(id(1), Lane::kBulk),
            (1 + GetParam().connections) * kFrameBodyBytesMax);
  ASSERT_TRUE(send(0, 1, Lane::kBulk, kMarker, {}).ok());
  ASSERT_TRUE(run_until(
      [&] { return !handler(1).frames.empty() && handler(1).frames.back().type == kMarker; }));
  for (std::size_t i = 0; i + 1 < handler(1).frames.size(); ++i) {
    EXPECT_EQ(handler(1).frames[i].head[0], i);
    EXPECT_TRUE(handler(1).frames[i].body == body);
  }
}

TEST_P(TransportContract, AStrangersFramesAreSmall) {
  handler(1).trust = LinkTrust::kStranger;
  // Not link(): no further connections come to it.
  const auto link_up = [&] {
    connect(0, 1);
    ASSERT_TRUE(
        run_until([&] { return transport(0).linked(id(1)) && transport(1).linked(id(0)); }));
  };
  for (const bool with_body : {false, true}) {
    const std::size_t frames = handler(1).frames.size();
    const std::size_t downs = handler(1).downs.size();
    link_up();
    ASSERT_TRUE(send(0, 1, Lane::kControl, kData, pattern(100, 1)).ok());
    ASSERT_TRUE(run_until([&] { return handler(1).frames.size() == frames + 1; }));
    if (with_body) {
      ASSERT_TRUE(send(0, 1, Lane::kBulk, kData, {1}, pattern(1, 1)).ok());
    } else {
      ASSERT_TRUE(send(0, 1, Lane::kControl, kData, pattern(kStrangerHeadBytesMax + 1, 1)).ok());
    }
    ASSERT_TRUE(run_until([&] { return handler(1).downs.size() > downs; }));
    EXPECT_EQ(handler(1).downs.back().why.code(), Code::kCorrupt);
    ASSERT_TRUE(run_until([&] { return handler(0).downs.size() > downs; }));
    EXPECT_EQ(handler(1).frames.size(), frames + 1);
  }
}

TEST_P(TransportContract, AStrangersFramesAreCounted) {
  handler(1).trust = LinkTrust::kStranger;
  // Not link(): no further connections come to it.
  const auto link_up = [&] {
    connect(0, 1);
    ASSERT_TRUE(
        run_until([&] { return transport(0).linked(id(1)) && transport(1).linked(id(0)); }));
  };
  link_up();
  for (std::uint8_t i = 0; i < 2 * kStrangerFramesMax; ++i) {
    static_cast<void>(send(0, 1, i % 2 == 0 ? Lane::kControl : Lane::kBulk, kData, {i}));
  }
  ASSERT_TRUE(run_until([&] { return !handler(1).downs.empty(); }));
  EXPECT_EQ(handler(1).downs[0].why.code(), Code::kUnavailable);
  EXPECT_LE(handler(1).frames.size(), kStrangerFramesMax);
  EXPECT_GE(handler(1).frames.size(), kStrangerFramesMax / 2);
}

TEST_P(TransportContract, WhoIsProvedSpeaksAtLengthUntilItIsAStrangerAgain) {
  handler(1).trust = LinkTrust::kStranger;
  // Not link(): no further connections come to it.
  const auto link_up = [&] {
    connect(0, 1);
    ASSERT_TRUE(
        run_until([&] { return transport(0).linked(id(1)) && transport(1).linked(id(0)); }));
  };
  handler(1).when_frame = [&](const RecordingHandler::Received& frame) {
    transport(1).set_trust(frame.from, LinkTrust::kProved);
  };
  link_up();
  ASSERT_TRUE(send(0, 1, Lane::kControl, kMarker, {1}).ok());
  ASSERT_TRUE(run_until([&] { return handler(1).frames.size() == 1; }));
  for (int i = 0; i < 40; ++i) {
    for (const Lane lane : {Lane::kControl, Lane::kBulk}) {
      ASSERT_TRUE(send(0, 1, lane, kData, pattern(kFrameHeadBytesMax, 1), pattern(70'000, 2)).ok());
    }
  }
  ASSERT_TRUE(run_until([&] { return handler(1).frames.size() == 81; }));
  for (std::size_t i = 1; i < 81; ++i) {
    ASSERT_TRUE(handler(1).frames[i].head == pattern(kFrameHeadBytesMax, 1));
    ASSERT_TRUE(handler(1).frames[i].body == pattern(70'000, 2));
  }
  handler(1).when_frame = {};
  transport(1).set_trust(id(0), LinkTrust::kStranger);
  ASSERT_TRUE(send(0, 1, Lane::kControl, kMarker, {2}).ok());
  ASSERT_TRUE(run_until([&] { return handler(1).frames.size() == 82; }));
  ASSERT_TRUE(send(0, 1, Lane::kBulk, kData, {}, pattern(70'000, 2)).ok());
  ASSERT_TRUE(run_until([&] { return !handler(1).downs.empty(); }));
  EXPECT_EQ(handler(1).frames.size(), 82U);
}

TEST_P(TransportContract, CloseInsideACallEndsTheFrames) {
  link(0, 1);
  handler(1).when_frame = [&](const RecordingHandler::Received& frame) {
    if (frame.head[0] == 3) transport(1).close(id(0), aborted("stop"));
  };
  for (std::uint8_t i = 0; i < 10; ++i) {
    ASSERT_TRUE(send(0, 1, Lane::kBulk, kData, {i}, pattern(1000, i)).ok());
  }
  ASSERT_TRUE(
      run_until([&] { return handler(0).downs.size() == 1 && handler(1).downs.size() == 1; }));
  world_->settle();
  EXPECT_EQ(handler(1).frames.size(), 4U);
}

TEST_P(TransportContract, CloseInsideOnLinkUpWorks) {
  handler(1).when_up = [&](const LinkInfo& info) {
    transport(1).close(info.peer, aborted("not today"));
  };
  connect(0, 1);
  ASSERT_TRUE(
      run_until([&] { return handler(0).downs.size() == 1 && handler(1).downs.size() == 1; }));
  EXPECT_NE(handler(0).downs[0].why.message().find("not today"), std::string::npos);
}

TEST_P(TransportContract, CloseEndsADial) {
  connect(0, 1);
  call(0, [&](Transport& transport) { transport.close(id(1), aborted("changed my mind")); });
  ASSERT_TRUE(run_until([&] { return handler(0).downs.size() == 1; }));
  world_->settle();
  EXPECT_TRUE(handler(0).ups.empty());
  EXPECT_EQ(handler(0).downs.size(), 1U);
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(TransportContract);

}  // namespace weft
