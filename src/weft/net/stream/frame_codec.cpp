#include "weft/net/stream/frame_codec.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "weft/wire/frame_type.h"

namespace weft {

namespace {

// How much is allocated for a head or a body before a byte of it is here.
constexpr std::size_t kFirstHeadBytes = 4 * 1024;
constexpr std::size_t kFirstBodyBytes = 64 * 1024;

void put_u32(std::uint8_t* out, std::size_t value) {
  for (unsigned i = 0; i < 4; ++i) out[i] = static_cast<std::uint8_t>(value >> (8 * i));
}

std::size_t get_u32(const std::uint8_t* in) {
  std::size_t value = 0;
  for (unsigned i = 0; i < 4; ++i) value |= static_cast<std::size_t>(in[i]) << (8 * i);
  return value;
}

}  // namespace

FrameHeaderBytes FrameHeader::encode() const {
  FrameHeaderBytes bytes{};
  put_u32(bytes.data(), head_bytes);
  put_u32(bytes.data() + 4, body_bytes);
  bytes[8] = type;
  return bytes;
}

Result<FrameHeader> FrameHeader::decode(const FrameHeaderBytes& bytes, const FrameLimits& limits) {
  FrameHeader header;
  header.head_bytes = get_u32(bytes.data());
  header.body_bytes = get_u32(bytes.data() + 4);
  header.type = bytes[8];
  if (header.head_bytes > limits.head_bytes_max) {
    return corrupt(fmt::format("frame.head_bytes: expected at most {}, got {}",
                               limits.head_bytes_max, header.head_bytes));
  }
  if (header.body_bytes > limits.body_bytes_max) {
    return corrupt(fmt::format("frame.body_bytes: expected at most {}, got {}",
                               limits.body_bytes_max, header.body_bytes));
  }
  if (header.type == 0) return corrupt("frame.type: expected 1 to 255, got 0");
  if ((bytes[9] | bytes[10] | bytes[11]) != 0) return corrupt("frame.zero: expected zeros");
  return header;
}

Status check_frame(const Frame& frame) {
  if (frame.type <= frame_type::kLastLinkType) {
    return invalid_argument(fmt::format("frame type: expected above {}, got {}",
                                        frame_type::kLastLinkType, frame.type));
  }
  if (frame.head.size() > kFrameHeadBytesMax) {
    return invalid_argument(fmt::format("frame head: expected at most {} bytes, got {}",
                                        kFrameHeadBytesMax, frame.head.size()));
  }
  if (frame.body.size() > kFrameBodyBytesMax) {
    return invalid_argument(fmt::format("frame body: expected at most {} bytes, got {}",
                                        kFrameBodyBytesMax, frame.body.size()));
  }
  return {};
}

FrameDecoder::FrameDecoder(std::size_t staging_bytes)
    : missing_(header_bytes_), staging_(staging_bytes) {}

void FrameDecoder::set_limits(const FrameLimits& limits) {
  limits_ = limits;
  if (part_ != Part::kHeader) return;
  if (head_.capacity() > limits.head_bytes_max) head_ = Bytes();
  if (body_buffer_.capacity() > limits.body_bytes_max) body_buffer_ = Bytes();
}

std::array<MutableByteSpan, 2> FrameDecoder::destinations() {
  return {missing_, MutableByteSpan(staging_).subspan(staged_end_)};
}

Status FrameDecoder::received(std::size_t size, FrameSink& sink) {
  const std::size_t direct = std::min(size, missing_.size());
  missing_ = missing_.subspan(direct);
  staged_end_ += size - direct;
  return deliver(sink);
}

std::size_t FrameDecoder::body_due() const {
  const bool untouched = part_ == Part::kBody && body_got_ == 0 && missing_.size() == body_piece_ &&
                         staged_begin_ == staged_end_ && !halted_;
  return untouched ? header_.body_bytes : 0;
}

Status FrameDecoder::take_body(ByteSpan body, FrameSink& sink) {
  WEFT_CHECK(!body.empty() && body.size() == body_due());
  part_ = Part::kHeader;
  missing_ = header_bytes_;
  sink.on_frame({header_.type, head_, body});
  return {};
}

Status FrameDecoder::resume(FrameSink& sink) {
  halted_ = false;
  return deliver(sink);
}

Status FrameDecoder::deliver(FrameSink& sink) {
  while (!halted_) {
    const std::size_t size = std::min(missing_.size(), staged_end_ - staged_begin_);
    if (size > 0) std::memcpy(missing_.data(), staging_.data() + staged_begin_, size);
    missing_ = missing_.subspan(size);
    staged_begin_ += size;
    if (staged_begin_ == staged_end_) staged_begin_ = staged_end_ = 0;
    if (!missing_.empty()) return {};
    WEFT_TRY(next_part(sink));
  }
  return {};
}

void FrameDecoder::begin_body(FrameSink& sink) {
  const std::size_t size = header_.body_bytes;
  body_ = {};
  body_got_ = 0;
  part_ = Part::kBody;
  if (size > 0) body_ = sink.body_destination(header_.type, head_, size);
  WEFT_CHECK(body_.empty() || body_.size() == size);
  if (body_.empty() && body_buffer_.size() < std::min(size, kFirstBodyBytes)) {
    body_buffer_.resize(std::min(size, kFirstBodyBytes));
  }
  missing_ = body_.empty()
                 ? MutableByteSpan(body_buffer_).first(std::min(size, body_buffer_.size()))
                 : body_;
  body_piece_ = missing_.size();
}

bool FrameDecoder::end_body_piece() {
  const std::size_t size = header_.body_bytes;
  body_got_ += body_piece_;
  if (body_got_ < size) {
    body_buffer_.resize(std::min(size, 2 * body_buffer_.size()));
    missing_ = MutableByteSpan(body_buffer_).first(std::min(size, body_buffer_.size()));
    missing_ = missing_.subspan(body_got_);
    body_piece_ = missing_.size();
    return false;
  }
  if (body_.empty()) body_ = MutableByteSpan(body_buffer_).first(size);
  return true;
}

Status FrameDecoder::next_part(FrameSink& sink) {
  switch (part_) {
    case Part::kHeader: {
      WEFT_TRY_ASSIGN(header_, FrameHeader::decode(header_bytes_, limits_));
      head_.resize(std::min(header_.head_bytes, kFirstHeadBytes));
      missing_ = head_;
      part_ = Part::kHead;
      return {};
    }
    case Part::kHead: {
      const std::size_t got = head_.size();
      if (got == header_.head_bytes) {
        begin_body(sink);
      } else {
        head_.resize(std::min(header_.head_bytes, 2 * got));
        missing_ = MutableByteSpan(head_).subspan(got);
      }
      return {};
    }
    case Part::kBody:
      if (!end_body_piece()) return {};
      break;
  }
  part_ = Part::kHeader;
  missing_ = header_bytes_;
  sink.on_frame({header_.type, head_, body_});
  return {};
}

}  // namespace weft
