#include "weft/app/folder/control_commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "weft/peer/revocations.h"
#include "weft/peer/ticket.h"

namespace weft::control_commands_test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

PeerId peer(std::uint8_t number) {
  PeerId id;
  id.bytes.fill(number);
  return id;
}

std::string text_of(const json& object, const char* field) {
  return object.at(field).get<std::string>();
}

// A group of three that writes down what it is asked.
class FakeGroup final : public GroupAdministration {
 public:
  Status leave(Duration /*limit*/) override { return {}; }
  Result<std::string> ticket(Duration valid_for) override {
    Ticket made;
    made.members.push_back(PeerAddress{peer(1), {"192.0.2.1:7420"}});
    made.invitation = {0xab};
    made.expiry_unix_s = std::chrono::duration_cast<std::chrono::seconds>(valid_for).count();
    return format_ticket(made);
  }
  Result<std::string> join_code(const std::string& line) override {
    coded = line;
    return std::string("k7q2m4-xd9fhj-2wpz8y");
  }
  Status revoke(const InvitationId& invitation) override {
    revoked.push_back(invitation);
    return {};
  }
  Result<std::string> expel(const PeerId& who, const std::string& reason) override {
    expelled.emplace_back(who, reason);
    return std::string("1 of 2 others");
  }
  Result<SwarmStatus> status() override {
    SwarmStatus out;
    out.state = "member";
    out.view.number = ViewNumber(4);
    for (const int number : {1, 2, 18}) {
      PeerStatus member;
      member.id = peer(static_cast<std::uint8_t>(number));
      member.self = number == 1;
      out.members.push_back(member);
    }
    if (!answers) return timed_out("the network thread gives no answer");
    out.waits_for = waits_for;
    out.waits_seconds = 12.5;
    return out;
  }
  std::vector<SwarmEvent> take_events() override { return {}; }
  const PeerId& self() const override { return self_; }

  bool answers = true;
  std::vector<PeerId> waits_for;
  // The ticket that a code was made for.
  std::string coded;
  std::vector<InvitationId> revoked;
  std::vector<std::pair<PeerId, std::string>> expelled;

 private:
  PeerId self_ = peer(1);
};

class ControlCommandsTest : public ::testing::Test {
 protected:
  json ask(const std::string& line) {
    return json::parse(answer_control(group, {"run", 3600}, line));
  }
  std::string refusal(const std::string& line) {
    const json answer = ask(line);
    EXPECT_FALSE(answer.at("ok").get<bool>()) << line;
    return answer.value("error", "");
  }

  FakeGroup group;
};

TEST_F(ControlCommandsTest, StatusNamesTheMembers) {
  const json answer = ask(R"({"command":"status"})");
  EXPECT_TRUE(answer.at("ok").get<bool>());
  EXPECT_EQ(text_of(answer, "run_id"), "run");
  EXPECT_EQ(answer.at("view").get<int>(), 4);
  ASSERT_EQ(answer.at("members").size(), 3U);
  EXPECT_EQ(text_of(answer.at("members").at(1), "peer"), peer(2).short_name());
}

TEST_F(ControlCommandsTest, StatusNamesWhomTheRoundWaitsForAndSaysWhereItKnowsNothing) {
  EXPECT_TRUE(ask(R"({"command":"status"})").at("waits_for").empty());
  group.waits_for = {peer(18)};
  const json answer = ask(R"({"command":"status"})");
  ASSERT_EQ(answer.at("waits_for").size(), 1U);
  EXPECT_EQ(answer.at("waits_for").at(0).get<std::string>(), peer(18).short_name());
  EXPECT_EQ(answer.at("waits_s").get<double>(), 12.5);
  group.answers = false;
  EXPECT_THAT(refusal(R"({"command":"status"})"), HasSubstr("no answer"));
}

TEST_F(ControlCommandsTest, TicketsTellTheirIdAndTime) {
  const json usual = ask(R"({"command":"ticket"})");
  EXPECT_EQ(usual.at("valid_s").get<int>(), 3600);
  EXPECT_EQ(text_of(usual, "invitation"), "ab000000000000000000000000000000");
  EXPECT_TRUE(parse_ticket(text_of(usual, "ticket")).ok());
  const json short_lived = ask(R"({"command":"ticket","valid_s":60})");
  EXPECT_EQ(short_lived.at("expires_unix_s").get<int>(), 60);
  EXPECT_THAT(refusal(R"({"command":"ticket","valid_s":0})"), HasSubstr("valid_s"));
  EXPECT_THAT(refusal(R"({"command":"ticket","valid_s":"long"})"), HasSubstr("valid_s"));
  EXPECT_THAT(refusal(R"({"command":"ticket","valid_s":1e300})"), HasSubstr("valid_s"));
}

TEST_F(ControlCommandsTest, ACodeIsMadeWhereItIsAskedForOnly) {
  EXPECT_FALSE(ask(R"({"command":"ticket"})").contains("code"));
  EXPECT_FALSE(ask(R"({"command":"ticket","code":false})").contains("code"));
  EXPECT_TRUE(group.coded.empty());
  const json answer = ask(R"({"command":"ticket","code":true})");
  EXPECT_EQ(text_of(answer, "code"), "k7q2m4-xd9fhj-2wpz8y");
  EXPECT_EQ(text_of(answer, "ticket"), group.coded);
  EXPECT_THAT(refusal(R"({"command":"ticket","code":1})"), HasSubstr("code: expected"));
}

TEST_F(ControlCommandsTest, RevokesByIdOrByTheTicketItself) {
  EXPECT_TRUE(ask(R"({"command":"revoke","invitation":"000102030405060708090a0b0c0d0e0f"})")
                  .at("ok")
                  .get<bool>());
  const std::string ticket = group.ticket(std::chrono::seconds(5)).value();
  const json whole = ask(json{{"command", "revoke"}, {"invitation", ticket}}.dump());
  EXPECT_EQ(text_of(whole, "invitation"), "ab000000000000000000000000000000");
  EXPECT_EQ(text_of(ask(R"({"command":"revoke","invitation":"all"})"), "invitation"), "all");
  ASSERT_EQ(group.revoked.size(), 3U);
  EXPECT_EQ(group.revoked[2], kAllInvitations);
  EXPECT_EQ(group.revoked[0][15], 15);
  EXPECT_EQ(group.revoked[1], InvitationId{0xab});
  for (const char* bad : {R"({"command":"revoke"})", R"({"command":"revoke","invitation":"12"})",
                          R"({"command":"revoke","invitation":"weft2-aaaa"})",
                          R"({"command":"revoke","invitation":7})"}) {
    refusal(bad);
  }
  EXPECT_EQ(group.revoked.size(), 3U);
}

TEST_F(ControlCommandsTest, ExpelsTheOneMemberThatIsMeant) {
  const std::string name = peer(2).short_name();
  const json told = ask(json{{"command", "expel"}, {"peer", name}, {"reason", "it lies"}}.dump());
  EXPECT_EQ(text_of(told, "text"), "1 of 2 others");
  ASSERT_EQ(group.expelled.size(), 1U);
  EXPECT_EQ(group.expelled[0].first, peer(2));
  EXPECT_EQ(group.expelled[0].second, "it lies");
  // "1" begins the id of one member only, 18 = 0x12; "0" those of two.
  EXPECT_TRUE(ask(R"({"command":"expel","peer":"12","reason":""})").at("ok").get<bool>());
  EXPECT_THAT(refusal(R"({"command":"expel","peer":"0","reason":""})"), HasSubstr("several"));
  EXPECT_THAT(refusal(R"({"command":"expel","peer":"","reason":""})"), HasSubstr("none"));
  EXPECT_THAT(refusal(R"({"command":"expel","peer":"zz","reason":""})"),
              HasSubstr(peer(18).short_name()));
  refusal(json{{"command", "expel"}, {"peer", name}, {"reason", std::string(500, 'x')}}.dump());
}

TEST_F(ControlCommandsTest, WhatIsNoCommandIsRefused) {
  for (const char* bad : {"", "{", "[]", "null", "7", R"({"command":7})", R"({"command":"stop"})",
                          R"({"commando":"status"})", "\xff\xfe", R"({"command":"\ud800"})"}) {
    EXPECT_FALSE(refusal(bad).empty()) << bad;
  }
}

}  // namespace
}  // namespace weft::control_commands_test
