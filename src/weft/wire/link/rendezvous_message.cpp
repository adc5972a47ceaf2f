#include "weft/wire/rendezvous_message.h"

#include "weft/wire/codec.h"
#include "weft/wire/core/endpoint_text.h"

namespace weft {

namespace {

// All but the signature.
Bytes fields_of(const RendezvousRecord& record) {
  Writer out;
  out.u16(kRendezvousVersion).raw(record.key);
  out.u64(static_cast<std::uint64_t>(record.unix_time_s));
  write_endpoints(out, record.endpoints);
  return out.take();
}

}  // namespace

Bytes RendezvousRecord::signed_part(const RunId& run) const {
  return Writer().text("weft rendezvous record").raw(run).bytes(fields_of(*this)).take();
}

Bytes RendezvousRecord::encode() const {
  Bytes bytes = fields_of(*this);
  bytes.insert(bytes.end(), signature.begin(), signature.end());
  return bytes;
}

Result<RendezvousRecord> RendezvousRecord::decode(ByteSpan bytes) {
  Reader in("rendezvous_record", bytes);
  RendezvousRecord record;
  if (in.u16("version") != kRendezvousVersion) in.fail("version", "expected 1");
  record.key = in.raw<32>("key");
  record.unix_time_s = static_cast<std::int64_t>(in.u64("unix_time"));
  record.endpoints = read_endpoints(in);
  record.signature = in.raw<64>("signature");
  WEFT_TRY(in.finish());
  return record;
}

}  // namespace weft
