// Each field of each part is changed, one after the other: the fingerprint of the membership must
// tell. A new field that nobody lists does not compile (parts/fields.h); one that is listed and is
// written by nobody fails here.
#include "weft/peer/parts/fingerprint.h"

#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "weft/base/rng.h"
#include "weft/net/sim_network.h"
#include "weft/peer/parts/membership_core.h"
#include "weft/peer/test_peer.h"

namespace weft {

// The one way to what a part owns.
struct StateAccess {
  template <class Part>
  static auto& of(Part& part) {
    return part.state_;
  }
};

namespace fingerprint_test {
namespace {

PeerId somebody() { return test_peer_id(77); }

View some_view() {
  View view;
  view.id = {ViewNumber(3), Hash256{7}};
  view.members = {Member{somebody(), 1, {}, 0}};
  return view;
}

// Something that differs from a fresh T.
template <class T>
T sample() {
  if constexpr (std::is_same_v<T, Watched>) {
    return Watched(FailureDetector(std::chrono::seconds(1), std::chrono::seconds(2), {}), {});
  } else if constexpr (std::is_same_v<T, PastLife>) {
    return PastLife{4, {}, some_view(), Agreement(some_view(), somebody()), {}};
  } else if constexpr (std::is_same_v<T, Agreement>) {
    return Agreement(some_view(), somebody());
  } else {
    return T{};
  }
}

class FingerprintTest : public testing::Test {
 protected:
  // Asks for what the membership looks like now: like nothing before.
  void expect_new(const std::string& what) {
    Fingerprint out;
    core().fingerprint(out);
    EXPECT_TRUE(seen_.insert(out.finish()).second) << what << " is in no fingerprint";
    ++changes_;
  }

  // Changes `value` in each way that counts, and puts it back.
  template <class T>
  requires requires(T& value) { T::told(value); }
  void vary(T& value, const std::string& what) {
    const auto fields = T::told(value);
    const std::string names = what + " " + std::string(T::kTold) + " no. ";
    int number = 0;
    std::apply([&](auto&... field) { (vary(field, names + std::to_string(++number)), ...); },
               fields);
  }
  template <class T>
  void vary(std::optional<T>& value, const std::string& what) {
    const std::optional<T> before = std::exchange(value, sample<T>());
    expect_new(what);
    vary(*value, what);
    restore(value, before);
  }
  template <class Key, class Value>
  void vary(std::map<Key, Value>& value, const std::string& what) {
    const std::map<Key, Value> before = std::exchange(value, {});
    for (const Key& key : keys<Key>()) {
      value.clear();
      value.emplace(key, sample<Value>());
      expect_new(what);
    }
    vary(value.begin()->second, what);
    value = before;
  }
  template <class T>
  void vary(std::set<T>& value, const std::string& what) {
    for (const T& key : keys<T>()) vary_by(value, what, [&](std::set<T>& it) { it.insert(key); });
  }
  template <class T>
  void vary(std::vector<T>& value, const std::string& what) {
    const std::vector<T> before = std::exchange(value, {sample<T>()});
    expect_new(what);
    vary(value.front(), what);
    value = before;
  }
  template <class T>
  requires std::is_integral_v<T> || std::is_enum_v<T>
  void vary(T& value, const std::string& what) {
    vary_by(value, what, [](T& it) {
      if constexpr (std::is_same_v<T, bool>) {
        it = !it;
      } else {
        it = static_cast<T>(static_cast<std::uint64_t>(it) + 1);
      }
    });
  }
  template <std::size_t N>
  void vary(std::array<std::uint8_t, N>& value, const std::string& what) {
    vary_by(value, what, [](auto& it) { it[0] = static_cast<std::uint8_t>(it[0] + 1); });
  }
  void vary(PeerId& value, const std::string& what) {
    vary_by(value, what, [](PeerId& it) { it = somebody(); });
  }
  void vary(ViewId& value, const std::string& what) {
    vary_by(value, what, [](ViewId& it) { it.hash[3] = 9; });
  }
  void vary(View& value, const std::string& what) { vary(value.id, what); }
  void vary(Round& value, const std::string& what) {
    vary_by(value, what, [](Round& it) { it = it.next(); });
  }
  void vary(Member& value, const std::string& what) {
    vary(value.id, what);
    vary(value.incarnation, what);
  }
  void vary(PeerAddress& value, const std::string& what) { vary(value.id, what); }
  void vary(Departure& value, const std::string& what) {
    vary(value.incarnation, what);
    vary(value.cause, what);
  }
  void vary(EarlierRun& value, const std::string& what) {
    vary(value.run, what);
    vary(value.generation, what);
  }
  // What it says is in its message; a fingerprint has all of that.
  void vary(StandingMessage& value, const std::string& what) { vary(value.samples, what); }
  void vary(Revocations& value, const std::string& what) {
    vary_by(value, what, [](Revocations& it) { it.ban({somebody(), "it lied"}); });
    vary_by(value, what, [](Revocations& it) { it.revoke(InvitationId{5}); });
    vary_by(value, what, [](Revocations& it) { it.renew(Hash256{5}); });
  }
  void vary(Accusations& value, const std::string& what) {
    vary_by(value, what, [](Accusations& it) { it.add(somebody(), test_peer_id(78), {}); });
  }
  void vary(Agreement& value, const std::string& what) {
    const Agreement before = value;
    value.resume(Ballot{9, somebody()}, std::nullopt);
    expect_new(what);
    value.start(2);
    expect_new(what);
    value = before;
  }
  // Whether it is set.
  void vary(TimePoint& value, const std::string& what) {
    vary_by(value, what, [](TimePoint& it) { it = it == kNever ? TimePoint{} : kNever; });
  }
  // For an optional one only its presence counts, which was checked already.
  void vary(LinkInfo& /*value*/, const std::string& /*what*/) {}

  template <class T, class Change>
  void vary_by(T& value, const std::string& what, const Change& change) {
    const T before = value;
    change(value);
    expect_new(what);
    value = before;
  }

  Membership::Core& core() { return const_cast<Membership::Core&>(peer_.membership->core()); }

  int changes_ = 0;

 private:
  // Two that differ.
  template <class T>
  static std::array<T, 2> keys() {
    if constexpr (std::is_same_v<T, PeerId>) {
      return {somebody(), test_peer_id(78)};
    } else if constexpr (std::is_same_v<T, ViewId>) {
      return {ViewId{}, some_view().id};
    } else {
      return {T{}, T{1}};
    }
  }
  template <class T>
  static void restore(std::optional<T>& value, const std::optional<T>& before) {
    value.reset();
    if (before) value.emplace(*before);
  }

  SimNetwork net_{SimNetworkOptions{}};
  TestPeer peer_{net_, test_membership(test_peer_id(1))};
  std::set<Hash128> seen_;
};

TEST_F(FingerprintTest, EachFieldOfEachPartIsTold) {
  expect_new("nothing");
  vary(static_cast<MembershipCoreState&>(core()), "core");
  std::apply(
      [this](auto&... part) {
        int number = 0;
        (vary(StateAccess::of(part), "part no. " + std::to_string(++number)), ...);
      },
      core().parts());
  EXPECT_GT(changes_, 100);
}

TEST_F(FingerprintTest, ACopyLooksTheSame) {
  for (const bool member : {false, true}) {
    if (member) core().found();
    Fingerprint first;
    core().fingerprint(first);
    Fingerprint second;
    Membership::Core(core()).fingerprint(second);
    EXPECT_EQ(first.finish(), second.finish());
  }
}

}  // namespace
}  // namespace fingerprint_test
}  // namespace weft
