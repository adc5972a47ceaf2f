// What the tests of one member's RoundCore share: ids and views, messages of the other member, a
// sink that records, and a fixture with the values of both.
//
// Threads: one owner.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "weft/base/status.h"
#include "weft/collective/reduce/collective_form.h"
#include "weft/collective/round/round_core.h"
#include "weft/wire/frame_type.h"

namespace weft {

inline PeerId round_peer_id(std::uint8_t number) {
  PeerId id;
  id.bytes[0] = number;
  return id;
}

inline View round_view(std::uint64_t number, const std::vector<std::uint8_t>& members,
                       std::uint64_t base) {
  View view;
  view.id.number = ViewNumber(number);
  view.id.hash[0] = static_cast<std::uint8_t>(number);
  for (const std::uint8_t member : members) view.members.push_back({round_peer_id(member), 1, {}});
  view.base_round = Round(base);
  return view;
}

// A round with one exchange, of all members of the view.
inline ReadyMessage round_ready(const CollectiveId& id, std::uint64_t elements, int members) {
  return {id, {{Team::derive(id.view, members, "all")->id(), elements, {}}}};
}
inline ExchangeId round_exchange(const CollectiveId& id) { return {id.view, id.round, 0}; }

// Keeps the frames that a core sends.
struct RoundRecorder final : StateSink {
  struct Sent {
    PeerId to;
    Frame frame;
  };
  void send(const PeerId& to, Lane /*lane*/, Frame frame) override {
    sent.push_back({to, std::move(frame)});
  }
  std::size_t queued_bytes(const PeerId& /*to*/) const override { return 0; }
  int count(std::uint8_t type) const {
    return static_cast<int>(std::count_if(
        sent.begin(), sent.end(), [&](const Sent& each) { return each.frame.type == type; }));
  }
  std::vector<Sent> sent;
};

// Member 1 of a view of members 1 and 2; direct exchange of 4 values.
class RoundMemberTest : public testing::Test {
 protected:
  explicit RoundMemberTest(bool reports) : core_(options(reports), sink_) {
    EXPECT_TRUE(core_.on_view(view_, TimePoint()).ok());
  }
  static RoundCoreOptions options(bool reports) {
    RoundCoreOptions made;
    made.self = round_peer_id(1);
    made.stall_timeout = std::chrono::seconds(10);
    made.wait_interval = std::chrono::seconds(60);
    made.reports = reports;
    return made;
  }
  CollectiveId id(std::uint64_t round) const { return {view_.id, Round(round)}; }
  // A frame from member 2.
  Status give(std::uint8_t type, const Bytes& head, const std::vector<float>& body = {}) {
    return core_.on_frame(round_peer_id(2), {type, head, as_bytes(std::span<const float>(body))},
                          now_);
  }
  Status give_ready(std::uint64_t round, std::uint64_t elements = 4) {
    return give(frame_type::kReady, round_ready(id(round), elements, 2).encode());
  }
  Status give_data(std::uint64_t round) {
    const std::uint8_t form = form_of({}, Algorithm::kDirect);
    const SegmentHead head{round_exchange(id(round)), CollectiveOp::kDirect, form, 4, 0};
    return give(frame_type::kSegment, head.encode(), theirs_);
  }
  void begin(std::uint64_t round) {
    core_.begin(id(round), 4, now_);
    core_.contribute(0, mine_, now_);
  }

  const std::vector<float> mine_ = {1, 2, 3, 4};
  const std::vector<float> theirs_ = {10, 20, 30, 40};
  std::vector<float> sum_ = {11, 22, 33, 44};
  const View view_ = round_view(5, {1, 2}, 0);
  TimePoint now_;
  RoundRecorder sink_;
  RoundCore core_;
};

}  // namespace weft
