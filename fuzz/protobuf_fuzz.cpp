// Any bytes as a message in protobuf's wire format: every field lies inside, and the reader ends.
#include "weft/base/check.h"
#include "weft/io/protobuf_reader.h"
#include "weft/io/protobuf_writer.h"

namespace {

constexpr int kDepthMax = 4;

// Goes into whatever may be an inner message.
void read(weft::ByteSpan bytes, std::size_t offset, int depth) {
  weft::ProtobufReader reader(bytes, offset);
  while (!reader.done()) {
    const weft::Result<weft::ProtobufField> field = reader.next();
    if (!field.ok()) {
      WEFT_CHECK(field.status().code() == weft::Code::kCorrupt);
      return;
    }
    WEFT_CHECK(field->number >= 1 && field->offset >= offset);
    WEFT_CHECK(field->offset + field->bytes.size() <= offset + bytes.size());
    std::vector<std::int64_t> integers;
    std::vector<float> floats;
    std::vector<double> doubles;
    static_cast<void>(field->append_integers(integers).ok());
    static_cast<void>(field->append_floats(floats).ok());
    static_cast<void>(field->append_doubles(doubles).ok());
    WEFT_CHECK(integers.size() <= std::max<std::size_t>(1, field->bytes.size()));
    if (field->type != weft::ProtobufType::kBytes) continue;
    weft::ProtobufWriter writer;
    writer.bytes(field->number, field->bytes);
    const weft::ProtobufField again = weft::ProtobufReader(writer.written()).next().value();
    WEFT_CHECK(again.number == field->number && again.bytes.size() == field->bytes.size());
    if (depth < kDepthMax) read(field->bytes, field->offset, depth + 1);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  read(weft::ByteSpan(data, size), 0, 0);
  return 0;
}
