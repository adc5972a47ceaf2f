// Any bytes as one of the messages of membership and agreement; and what they say of a view of
// three.
#include <vector>

#include "message_decoder.h"
#include "weft/wire/membership_message.h"
#include "weft/wire/value_difference.h"

namespace weft::fuzz {
namespace {

std::vector<Member> three_members() {
  std::vector<Member> members;
  for (std::uint8_t number = 1; number <= 3; ++number) {
    Member& member = members.emplace_back();
    member.id.bytes.fill(number);
    member.incarnation = 7;
  }
  return members;
}

// What fits the view is a value, whose own difference from the view gives it once more.
void check_difference(ByteSpan bytes) {
  const Result<AcceptMessage> message = AcceptMessage::decode(bytes);
  if (!message.ok() || !message->difference) return;
  const std::vector<Member> members = three_members();
  const Result<ViewValue> value = apply_difference(*message->difference, members, {});
  if (!value.ok()) {
    WEFT_CHECK(value.status().code() == Code::kCorrupt);
    return;
  }
  const Result<ViewValue> again = apply_difference(difference_of(members, {}, *value), members, {});
  WEFT_CHECK(again.ok());
  WEFT_CHECK(*again == *value);
}

}  // namespace
}  // namespace weft::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 0) weft::fuzz::check_difference(weft::ByteSpan(data, size).subspan(1));
  return weft::fuzz::check_decoders<
      weft::HeartbeatMessage, weft::SuspicionMessage, weft::PrepareMessage, weft::PromiseMessage,
      weft::AcceptMessage, weft::AcceptedMessage, weft::RejectedMessage, weft::ViewNoticeMessage,
      weft::RemovedMessage, weft::OutsideMessage, weft::LeavingMessage, weft::JoinerMessage>(data,
                                                                                             size);
}
