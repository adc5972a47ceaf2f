#include "weft/wire/collective_message.h"

#include <utility>

namespace weft {

static void write_id(Writer& out, const CollectiveId& id) { out.view(id.view).round(id.round); }

static CollectiveId read_id(Reader& in) {
  CollectiveId id;
  id.view = in.view("view");
  id.round = in.round("round");
  return id;
}

Bytes SegmentHead::encode() const {
  Writer out;
  write_id(out, id.of_round());
  out.u8(id.exchange).u8(static_cast<std::uint8_t>(op)).u8(form).u64(elements).u32(segment);
  return out.take();
}

Result<SegmentHead> SegmentHead::decode(ByteSpan bytes) {
  Reader in("segment head", bytes);
  SegmentHead head;
  const CollectiveId id = read_id(in);
  head.id = {id.view, id.round, in.u8("exchange")};
  if (head.id.exchange >= kExchangesMax) in.fail("exchange", "expected 0 to 249");
  const std::uint8_t op = in.u8("op");
  if (op > static_cast<std::uint8_t>(CollectiveOp::kDelivery)) in.fail("op", "expected 0 to 11");
  head.op = static_cast<CollectiveOp>(op);
  head.form = in.u8("form");
  head.elements = in.u64("elements");
  head.segment = in.u32("segment");
  WEFT_TRY(in.finish());
  return head;
}

Bytes read_received_map(Reader& in, std::size_t bytes_max) {
  const ByteSpan received = in.bytes("received", bytes_max);
  for (const std::uint8_t state : received) {
    if (state > 2) in.fail("received", "expected 0 to 2");
  }
  return {received.begin(), received.end()};
}

std::uint64_t ReadyMessage::elements() const {
  std::uint64_t sum = 0;
  for (const Exchange& each : exchanges) sum += each.elements;
  return sum;
}

Bytes ReadyMessage::encode() const {
  Writer out;
  write_id(out, id);
  out.u8(static_cast<std::uint8_t>(exchanges.size()));
  for (const Exchange& each : exchanges) {
    out.raw(each.team).u64(each.elements).bytes(each.received);
  }
  return out.take();
}

Result<ReadyMessage> ReadyMessage::decode(ByteSpan bytes) {
  Reader in("ready", bytes);
  ReadyMessage message;
  message.id = read_id(in);
  const std::size_t count = in.u8("exchanges");
  if (count == 0 || count > kExchangesMax) in.fail("exchanges", "expected 1 to 250");
  std::size_t map_bytes_left = kReceivedMapBytesMax;
  for (std::size_t i = 0; i < count && !in.failed(); ++i) {
    Exchange each;
    each.team = in.raw<16>("team");
    each.elements = in.u64("elements");
    if (each.elements > kExchangeElementsMax) in.fail("elements", "expected at most 2^48");
    each.received = read_received_map(in, map_bytes_left);
    map_bytes_left -= each.received.size();
    message.exchanges.push_back(std::move(each));
  }
  WEFT_TRY(in.finish());
  return message;
}

Bytes DoneMessage::encode() const {
  Writer out;
  write_id(out, id);
  out.raw(result_hash);
  return out.take();
}

Result<DoneMessage> DoneMessage::decode(ByteSpan bytes) {
  Reader in("done", bytes);
  DoneMessage message;
  message.id = read_id(in);
  message.result_hash = in.raw<16>("result hash");
  WEFT_TRY(in.finish());
  return message;
}

Bytes FinishedMessage::encode() const { return Writer().round(round).take(); }

Result<FinishedMessage> FinishedMessage::decode(ByteSpan bytes) {
  Reader in("finished", bytes);
  FinishedMessage message;
  message.round = in.round("round");
  WEFT_TRY(in.finish());
  return message;
}

Bytes StateHashMessage::encode() const {
  Writer out;
  write_id(out, id);
  out.raw(total).u32(static_cast<std::uint32_t>(tensors.size()));
  for (const Hash128& hash : tensors) out.raw(hash);
  return out.take();
}

Result<StateHashMessage> StateHashMessage::decode(ByteSpan bytes) {
  Reader in("state hash", bytes);
  StateHashMessage message;
  message.id = read_id(in);
  message.total = in.raw<16>("total");
  const std::uint32_t count = in.count("tensors", kTensorHashesMax);
  for (std::uint32_t i = 0; i < count && !in.failed(); ++i) {
    message.tensors.push_back(in.raw<16>("tensor hash"));
  }
  WEFT_TRY(in.finish());
  return message;
}

Bytes ProgressMessage::encode() const {
  Writer out;
  write_id(out, id);
  out.u8(query ? 1 : 0).u8(contributed ? 1 : 0).peer(waits_for);
  return out.take();
}

Result<ProgressMessage> ProgressMessage::decode(ByteSpan bytes) {
  Reader in("progress", bytes);
  ProgressMessage message;
  message.id = read_id(in);
  message.query = in.boolean("query");
  message.contributed = in.boolean("contributed");
  message.waits_for = in.peer("waits for");
  WEFT_TRY(in.finish());
  return message;
}

Bytes ReportMessage::encode() const {
  Writer out;
  write_id(out, id);
  out.bytes(report);
  return out.take();
}

Result<ReportMessage> ReportMessage::decode(ByteSpan bytes) {
  Reader in("report", bytes);
  ReportMessage message;
  message.id = read_id(in);
  const ByteSpan report = in.bytes("report", kReportBytesMax);
  message.report.assign(report.begin(), report.end());
  WEFT_TRY(in.finish());
  return message;
}

Bytes RoundReports::encode() const {
  Writer out;
  out.u32(static_cast<std::uint32_t>(by_rank.size()));
  for (const Bytes& report : by_rank) out.bytes(report);
  return out.take();
}

Result<RoundReports> RoundReports::decode(ByteSpan bytes) {
  Reader in("reports", bytes);
  RoundReports reports;
  const std::uint32_t count = in.count("reports", kReportsMax);
  for (std::uint32_t i = 0; i < count && !in.failed(); ++i) {
    const ByteSpan report = in.bytes("report", kReportBytesMax);
    reports.by_rank.emplace_back(report.begin(), report.end());
  }
  WEFT_TRY(in.finish());
  return reports;
}

Hash128 result_hash(std::span<const float> sums, ByteSpan reports) {
  const Hash128 of_sums = xxh3_128(as_bytes(sums));
  if (reports.empty()) return of_sums;
  const Hash128 of_reports = xxh3_128(reports);
  Bytes both(of_sums.begin(), of_sums.end());
  both.insert(both.end(), of_reports.begin(), of_reports.end());
  return xxh3_128(both);
}

}  // namespace weft
