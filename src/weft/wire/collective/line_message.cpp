#include "weft/wire/line_message.h"

#include "weft/base/check.h"
#include "weft/wire/codec.h"

namespace weft {

static void write_row(Writer& out, const LineRow& row) {
  WEFT_CHECK(row.lines.size() < kMembersMax);
  out.u16(row.reporter).u64(row.sequence).u16(row.age_s);
  out.u32(static_cast<std::uint32_t>(row.lines.size()));
  for (const LineEntry& line : row.lines) {
    out.u16(line.from).u16(line.rate.code()).u16(line.delay.code());
  }
}

static LineRow read_row(Reader& in) {
  LineRow row;
  row.reporter = in.u16("row.reporter");
  if (row.reporter >= kMembersMax) in.fail("row.reporter", "expected a rank");
  row.sequence = in.u64("row.sequence");
  row.age_s = in.u16("row.age");
  const std::uint32_t lines = in.count("row.lines", kMembersMax - 1);
  for (std::uint32_t i = 0; i < lines && !in.failed(); ++i) {
    LineEntry line;
    line.from = in.u16("line.from");
    line.rate = LineCode(in.u16("line.rate"));
    line.delay = LineCode(in.u16("line.delay"));
    if (line.from >= kMembersMax || line.from == row.reporter) {
      in.fail("line.from", "expected another member's rank");
    }
    if (!row.lines.empty() && line.from <= row.lines.back().from) {
      in.fail("line.from", "expected ascending ranks");
    }
    row.lines.push_back(line);
  }
  return row;
}

Bytes LineReportMessage::encode() const {
  WEFT_CHECK(rows.size() <= kLineRowsMax);
  Writer out;
  out.view(view).u32(static_cast<std::uint32_t>(rows.size()));
  for (const LineRow& row : rows) write_row(out, row);
  return out.take();
}

Result<LineReportMessage> LineReportMessage::decode(ByteSpan bytes) {
  Reader in("line report", bytes);
  LineReportMessage message;
  message.view = in.view("view");
  const std::uint32_t rows = in.count("rows", kLineRowsMax);
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
