#include "weft/wire/membership_message.h"

#include "weft/wire/codec.h"
#include "weft/wire/printable.h"

namespace weft {

namespace {

void write_ballot(Writer& out, const Ballot& ballot) {
  out.u64(ballot.counter).peer(ballot.proposer);
}

Ballot read_ballot(Reader& in, std::string_view field) {
  Ballot ballot;
  ballot.counter = in.u64(field);
  ballot.proposer = in.peer(field);
  return ballot;
}

void write_carried(Writer& out, const ViewValue& value,
                   const std::optional<ValueDifference>& difference) {
  out.u8(difference ? 0 : 1);
  if (difference) {
    write_difference(out, *difference);
  } else {
    write_view_value(out, value);
  }
}

void read_carried(Reader& in, ViewValue& value, std::optional<ValueDifference>& difference) {
  if (in.boolean("whole")) {
    value = read_view_value(in);
  } else {
    difference = read_difference(in);
  }
}

}  // namespace

Bytes HeartbeatMessage::encode() const {
  return Writer().view(view).u64(incarnation).u64(sequence).round(done).take();
}

Result<HeartbeatMessage> HeartbeatMessage::decode(ByteSpan bytes) {
  Reader in("heartbeat", bytes);
  HeartbeatMessage message;
  message.view = in.view("view");
  message.incarnation = in.u64("incarnation");
  message.sequence = in.u64("sequence");
  message.done = in.round("done");
  WEFT_TRY(in.finish());
  return message;
}

Bytes SuspicionMessage::encode() const {
  return Writer()
      .view(view)
      .peer(who)
      .u8(withdrawn ? 1 : 0)
      .text(to_printable(reason, kReasonBytesMax))
      .take();
}

Result<SuspicionMessage> SuspicionMessage::decode(ByteSpan bytes) {
  Reader in("suspicion", bytes);
  SuspicionMessage message;
  message.view = in.view("view");
  message.who = in.peer("who");
  message.withdrawn = in.boolean("withdrawn");
  message.reason = read_printable(in, "reason", kReasonBytesMax);
  WEFT_TRY(in.finish());
  return message;
}

Bytes PrepareMessage::encode() const {
  Writer out;
  out.view(view);
  write_ballot(out, ballot);
  out.raw(bans);
  return out.take();
}

Result<PrepareMessage> PrepareMessage::decode(ByteSpan bytes) {
  Reader in("prepare", bytes);
  PrepareMessage message;
  message.view = in.view("view");
  message.ballot = read_ballot(in, "ballot");
  message.bans = in.raw<16>("bans");
  WEFT_TRY(in.finish());
  return message;
}

Bytes PromiseMessage::encode() const {
  Writer out;
  out.view(view);
  write_ballot(out, ballot);
  out.round(status.done).raw(status.result_hash).u8(accepted.has_value() ? 1 : 0);
  if (accepted.has_value()) {
    write_ballot(out, accepted->ballot);
    write_carried(out, accepted->value, difference);
  }
  return out.take();
}

Result<PromiseMessage> PromiseMessage::decode(ByteSpan bytes) {
  Reader in("promise", bytes);
  PromiseMessage message;
  message.view = in.view("view");
  message.ballot = read_ballot(in, "ballot");
  message.status.done = in.round("done");
  message.status.result_hash = in.raw<16>("result_hash");
  if (in.boolean("has_accepted")) {
    AcceptedValue& accepted = message.accepted.emplace();
    accepted.ballot = read_ballot(in, "accepted.ballot");
    read_carried(in, accepted.value, message.difference);
  }
  WEFT_TRY(in.finish());
  return message;
}

Bytes AcceptMessage::encode() const {
  Writer out;
  out.view(view);
  write_ballot(out, ballot);
  write_carried(out, value, difference);
  return out.take();
}

Result<AcceptMessage> AcceptMessage::decode(ByteSpan bytes) {
  Reader in("accept", bytes);
  AcceptMessage message;
  message.view = in.view("view");
  message.ballot = read_ballot(in, "ballot");
  read_carried(in, message.value, message.difference);
  WEFT_TRY(in.finish());
  return message;
}

Bytes AcceptedMessage::encode() const {
  Writer out;
  out.view(view);
  write_ballot(out, ballot);
  return out.take();
}

Result<AcceptedMessage> AcceptedMessage::decode(ByteSpan bytes) {
  Reader in("accepted", bytes);
  AcceptedMessage message;
  message.view = in.view("view");
  message.ballot = read_ballot(in, "ballot");
  WEFT_TRY(in.finish());
  return message;
}

Bytes RejectedMessage::encode() const {
  Writer out;
  out.view(view);
  write_ballot(out, asked);
  write_ballot(out, promised);
  return out.take();
}

Result<RejectedMessage> RejectedMessage::decode(ByteSpan bytes) {
  Reader in("rejected", bytes);
  RejectedMessage message;
  message.view = in.view("view");
  message.asked = read_ballot(in, "asked");
  message.promised = read_ballot(in, "promised");
  WEFT_TRY(in.finish());
  return message;
}

Bytes ViewNoticeMessage::encode() const {
  Writer out;
  out.view(previous).view(view);
  write_carried(out, value, difference);
  out.u8(key ? 1 : 0);
  if (key) out.u64(key->renewals).raw(key->key);
  return out.take();
}

Result<ViewNoticeMessage> ViewNoticeMessage::decode(ByteSpan bytes) {
  Reader in("view_notice", bytes);
  ViewNoticeMessage message;
  message.previous = in.view("previous");
  message.view = in.view("view");
  read_carried(in, message.value, message.difference);
  const std::uint8_t keyed = in.u8("keyed");
  if (keyed > 1) in.fail("keyed", "expected 0 or 1");
  if (keyed == 1) {
    message.key.emplace();
    message.key->renewals = in.u64("renewals");
    message.key->key = in.raw<32>("key");
  }
  WEFT_TRY(in.finish());
  return message;
}

Bytes RemovedMessage::encode() const {
  return Writer().view(view).u64(incarnation).text(to_printable(reason, kReasonBytesMax)).take();
}

Result<RemovedMessage> RemovedMessage::decode(ByteSpan bytes) {
  Reader in("removed", bytes);
  RemovedMessage message;
  message.view = in.view("view");
  message.incarnation = in.u64("incarnation");
  message.reason = read_printable(in, "reason", kReasonBytesMax);
  WEFT_TRY(in.finish());
  return message;
}

Bytes OutsideMessage::encode() const {
  Writer out;
  out.u64(incarnation).u8(votes_in ? 1 : 0);
  if (votes_in) out.view(*votes_in);
  return out.take();
}

Result<OutsideMessage> OutsideMessage::decode(ByteSpan bytes) {
  Reader in("outside", bytes);
  OutsideMessage message;
  message.incarnation = in.u64("incarnation");
  if (in.boolean("votes")) message.votes_in = in.view("view");
  WEFT_TRY(in.finish());
  return message;
}

Bytes LeavingMessage::encode() const { return Writer().view(view).take(); }

Result<LeavingMessage> LeavingMessage::decode(ByteSpan bytes) {
  Reader in("leaving", bytes);
  LeavingMessage message;
  message.view = in.view("view");
  WEFT_TRY(in.finish());
  return message;
}

Bytes JoinerMessage::encode() const {
  Writer out;
  write_member(out, joiner);
  out.u8(present ? 1 : 0);
  return out.take();
}

Result<JoinerMessage> JoinerMessage::decode(ByteSpan bytes) {
  Reader in("joiner", bytes);
  JoinerMessage message;
  message.joiner = read_member(in);
  message.present = in.boolean("present");
  WEFT_TRY(in.finish());
  return message;
}

}  // namespace weft
