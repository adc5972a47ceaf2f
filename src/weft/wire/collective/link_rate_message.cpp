#include "weft/wire/link_rate_message.h"

#include "weft/base/check.h"
#include "weft/wire/codec.h"

namespace weft {

static void write_row(Writer& out, const LinkRow& row) {
  WEFT_CHECK(row.links.size() < kMembersMax);
  out.u16(row.reporter).u64(row.sequence).u16(row.age_s);
  out.u32(static_cast<std::uint32_t>(row.links.size()));
  for (const LinkEntry& link : row.links) {
    out.u16(link.from).u16(link.rate.code()).u16(link.delay.code());
  }
}

static LinkRow read_row(Reader& in) {
  LinkRow row;
  row.reporter = in.u16("row.reporter");
  if (row.reporter >= kMembersMax) in.fail("row.reporter", "expected a rank");
  row.sequence = in.u64("row.sequence");
  row.age_s = in.u16("row.age");
  const std::uint32_t links = in.count("row.links", kMembersMax - 1);
  for (std::uint32_t i = 0; i < links && !in.failed(); ++i) {
    LinkEntry link;
    link.from = in.u16("link.from");
    link.rate = LinkCode(in.u16("link.rate"));
    link.delay = LinkCode(in.u16("link.delay"));
    if (link.from >= kMembersMax || link.from == row.reporter) {
      in.fail("link.from", "expected another member's rank");
    }
    if (!row.links.empty() && link.from <= row.links.back().from) {
      in.fail("link.from", "expected ascending ranks");
    }
    row.links.push_back(link);
  }
  return row;
}

Bytes LinkReportMessage::encode() const {
  WEFT_CHECK(rows.size() <= kLinkRowsMax);
  Writer out;
  out.view(view).u32(static_cast<std::uint32_t>(rows.size()));
  for (const LinkRow& row : rows) write_row(out, row);
  return out.take();
}

Result<LinkReportMessage> LinkReportMessage::decode(ByteSpan bytes) {
  Reader in("link report", bytes);
  LinkReportMessage message;
  message.view = in.view("view");
  const std::uint32_t rows = in.count("rows", kLinkRowsMax);
  for (std::uint32_t i = 0; i < rows && !in.failed(); ++i) message.rows.push_back(read_row(in));
  WEFT_TRY(in.finish());
  return message;
}

Bytes ProbeHead::encode() const {
  Writer out;
  out.view(view).u32(sequence).u8(index).u8(count);
  return out.take();
}

Result<ProbeHead> ProbeHead::decode(ByteSpan bytes) {
  Reader in("probe", bytes);
  ProbeHead head;
  head.view = in.view("view");
  head.sequence = in.u32("sequence");
  head.index = in.u8("index");
  head.count = in.u8("count");
  if (head.count < 2 || head.count > kProbeFramesMax) in.fail("count", "expected 2 to 32");
  if (head.index >= head.count) in.fail("index", "expected less than count");
  WEFT_TRY(in.finish());
  return head;
}

}  // namespace weft
