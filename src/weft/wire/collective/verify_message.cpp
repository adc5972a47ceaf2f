#include "weft/wire/verify_message.h"

#include <string_view>

#include "weft/wire/codec.h"

namespace weft {

static void write(Writer& out, const Statement& statement) {
  out.u8(static_cast<std::uint8_t>(statement.kind)).u32(statement.by).u32(statement.chunk);
  out.u32(statement.contributor).raw(statement.digest).raw(statement.key).raw(statement.signature);
}

static Statement read(Reader& in) {
  Statement statement;
  const std::uint8_t kind = in.u8("kind");
  if (kind > static_cast<std::uint8_t>(StatementKind::kComplaint)) {
    in.fail("kind", "expected 0 to 5");
  }
  statement.kind = static_cast<StatementKind>(kind);
  statement.by = in.u32("by");
  statement.chunk = in.u32("chunk");
  statement.contributor = in.u32("contributor");
  for (const std::uint32_t rank : {statement.by, statement.chunk, statement.contributor}) {
    if (rank >= kVerifiedMembersMax) in.fail("rank", "beyond the limit");
  }
  statement.digest = in.raw<32>("digest");
  statement.key = in.raw<32>("key");
  statement.signature = in.raw<64>("signature");
  return statement;
}

static void write(Writer& out, const std::vector<Statement>& statements) {
  out.u32(static_cast<std::uint32_t>(statements.size()));
  for (const Statement& statement : statements) write(out, statement);
}

static std::vector<Statement> read_several(Reader& in) {
  std::vector<Statement> statements;
  const std::uint32_t count = in.count("statements", kStatementsMax);
  for (std::uint32_t i = 0; i < count && !in.failed(); ++i) statements.push_back(read(in));
  return statements;
}

Bytes Statement::signed_bytes(const ExchangeId& id) const {
  static constexpr std::string_view kPurpose = "weft verified round 1";
  Writer out;
  out.text(kPurpose).view(id.view).round(id.round).u8(id.exchange);
  out.u8(static_cast<std::uint8_t>(kind)).u32(by).u32(chunk).u32(contributor).raw(digest);
  return out.take();
}

Bytes Statement::encode() const {
  Writer out;
  write(out, *this);
  return out.take();
}

Result<Statement> Statement::decode(ByteSpan bytes) {
  Reader in("statement", bytes);
  const Statement statement = read(in);
  WEFT_TRY(in.finish());
  return statement;
}

Hash256 CommitmentMessage::digest() const {
  Sha256 hash;
  hash.update(nonce_hash);
  for (const Hash256& input : inputs) hash.update(input);
  return hash.finish();
}

Bytes CommitmentMessage::encode() const {
  Writer out;
  write(out, statement);
  out.raw(nonce_hash).u32(static_cast<std::uint32_t>(inputs.size()));
  for (const Hash256& input : inputs) out.raw(input);
  return out.take();
}

Result<CommitmentMessage> CommitmentMessage::decode(ByteSpan bytes) {
  Reader in("commitment", bytes);
  CommitmentMessage message;
  message.statement = read(in);
  message.nonce_hash = in.raw<32>("nonce hash");
  const std::uint32_t count = in.count("inputs", kVerifiedMembersMax);
  for (std::uint32_t i = 0; i < count && !in.failed(); ++i) {
    message.inputs.push_back(in.raw<32>("input hash"));
  }
  WEFT_TRY(in.finish());
  return message;
}

Bytes TableMessage::encode() const {
  Writer out;
  write(out, statement);
  out.bytes(values);
  return out.take();
}

Result<TableMessage> TableMessage::decode(ByteSpan bytes) {
  Reader in("table", bytes);
  TableMessage message;
  message.statement = read(in);
  const ByteSpan values = in.bytes("values", kDistanceTableBytesMax);
  message.values.assign(values.begin(), values.end());
  WEFT_TRY(in.finish());
  return message;
}

Bytes EchoMessage::encode() const {
  Writer out;
  out.raw(nonce);
  write(out, statements);
  return out.take();
}

Result<EchoMessage> EchoMessage::decode(ByteSpan bytes) {
  Reader in("echo", bytes);
  EchoMessage message;
  message.nonce = in.raw<32>("nonce");
  message.statements = read_several(in);
  WEFT_TRY(in.finish());
  return message;
}

Bytes StatementsMessage::encode() const {
  Writer out;
  write(out, statements);
  return out.take();
}

Result<StatementsMessage> StatementsMessage::decode(ByteSpan bytes) {
  Reader in("statements", bytes);
  StatementsMessage message;
  message.statements = read_several(in);
  WEFT_TRY(in.finish());
  return message;
}

}  // namespace weft
