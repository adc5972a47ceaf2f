#include "weft/wire/branch_message.h"

#include "weft/base/check.h"
#include "weft/wire/codec.h"

namespace weft {

Bytes BranchMessage::encode() const {
  WEFT_CHECK(members.size() <= kMembersMax);
  Writer out;
  out.view(view).u64(attempt).u8(static_cast<std::uint8_t>(step)).round(committed).raw(snapshot);
  out.u32(static_cast<std::uint32_t>(members.size()));
  for (const Member& member : members) write_member(out, member);
  return out.take();
}

Result<BranchMessage> BranchMessage::decode(ByteSpan bytes) {
  Reader in("branch", bytes);
  BranchMessage message;
  message.view = in.view("view");
  message.attempt = in.u64("attempt");
  const std::uint8_t step = in.u8("step");
  if (step > static_cast<std::uint8_t>(BranchStep::kFormer)) in.fail("step", "expected 0 to 4");
  message.step = static_cast<BranchStep>(step);
  message.committed = in.round("committed");
  message.snapshot = in.raw<32>("snapshot");
  const std::uint32_t count = in.count("members", kMembersMax);
  for (std::uint32_t i = 0; i < count && !in.failed(); ++i) {
    message.members.push_back(read_member(in));
  }
  WEFT_TRY(in.finish());
  return message;
}

Bytes StandingMessage::encode() const {
  Writer out;
  out.view(current.previous).view(current.view);
  write_view_value(out, current.value);
  out.round(round).u64(samples).u8(snapshot ? 1 : 0);
  if (snapshot) out.raw(*snapshot);
  return out.take();
}

Result<StandingMessage> StandingMessage::decode(ByteSpan bytes) {
  Reader in("standing", bytes);
  StandingMessage message;
  message.current.previous = in.view("previous");
  message.current.view = in.view("view");
  message.current.value = read_view_value(in);
  message.round = in.round("round");
  message.samples = in.u64("samples");
  if (in.boolean("offers")) message.snapshot = in.raw<32>("snapshot");
  WEFT_TRY(in.finish());
  return message;
}

}  // namespace weft
