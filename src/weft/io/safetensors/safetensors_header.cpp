#include "weft/io/safetensors/safetensors_header.h"

#include <iterator>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace weft {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kDtypeBytesMax = 16;

// Follows the text event by event, so that nothing is built but what is asked for and nesting
// costs nothing. A false stops the parser; fault() then says why.
class HeaderReader {
 public:
  Header take() { return std::move(header_); }
  const std::string& fault() const { return fault_; }

  bool start_object(std::size_t /*size*/) {
    if (place_ == Place::kStart) return go(Place::kNames);
    if (place_ == Place::kTensorStart) return go(Place::kTensor);
    if (place_ == Place::kMetadataStart) return go(Place::kMetadata);
    return refuse("an object");
  }

  bool end_object() {
    if (place_ == Place::kNames) return go(Place::kEnd);
    if (place_ == Place::kMetadata) return go(Place::kNames);
    if (seen_ != (kSeenDtype | kSeenShape | kSeenOffsets)) return refuse("the end of a tensor");
    return go(Place::kNames);
  }

  bool start_array(std::size_t /*size*/) {
    if (place_ == Place::kShapeStart) return go(Place::kShape);
    if (place_ == Place::kOffsetsStart) return go(Place::kOffsets);
    return refuse("an array");
  }

  bool end_array() {
    if (place_ == Place::kShape) return go(Place::kTensor);
    if (offsets_.size() != 2) return refuse("the end of data_offsets");
    header_.tensors.back().begin = offsets_[0];
    header_.tensors.back().end = offsets_[1];
    return go(Place::kTensor);
  }

  bool key(std::string& text) {
    if (place_ == Place::kNames) return begin_name(text);
    if (place_ == Place::kTensor) return begin_field(text);
    metadata_key_ = text;  // the only other object that has keys
    if (header_.metadata.count(text) != 0) return refuse("a key twice");
    return go(Place::kMetadataValue);
  }

  bool string(std::string& text) {
    if (place_ == Place::kDtype) {
      if (text.size() > kDtypeBytesMax) return refuse("a type that is too long");
      header_.tensors.back().dtype = text;
      return go(Place::kTensor);
    }
    if (place_ != Place::kMetadataValue) return refuse("a text");
    header_.metadata.emplace(metadata_key_, text);
    return go(Place::kMetadata);
  }

  bool number_unsigned(std::uint64_t value) {
    if (place_ == Place::kShape) {
      std::vector<std::uint64_t>& shape = header_.tensors.back().shape;
      if (shape.size() == Shape::kDimsMax) return refuse("more dimensions than Weft has");
      shape.push_back(value);
      return true;
    }
    if (place_ != Place::kOffsets || offsets_.size() == 2) return refuse("a number");
    offsets_.push_back(value);
    return true;
  }

  bool number_integer(std::int64_t /*value*/) { return refuse("a negative number"); }
  bool number_float(double /*value*/, const std::string& /*text*/) { return refuse("a fraction"); }
  bool boolean(bool /*value*/) { return refuse("true or false"); }
  bool null() { return refuse("null"); }
  bool binary(Json::binary_t& /*value*/) { return refuse("binary data"); }
  bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) {
    fault_ = "expected JSON, got something else";
    return false;
  }

 private:
  // What the next event belongs to.
  enum class Place {
    kStart,
    kNames,
    kMetadataStart,
    kMetadata,
    kMetadataValue,
    kTensorStart,
    kTensor,
    kDtype,
    kShapeStart,
    kShape,
    kOffsetsStart,
    kOffsets,
    kEnd,
  };
  static constexpr unsigned kSeenDtype = 1;
  static constexpr unsigned kSeenShape = 2;
  static constexpr unsigned kSeenOffsets = 4;

  bool go(Place place) {
    place_ = place;
    return true;
  }

  bool refuse(std::string_view got) {
    const std::string where = header_.tensors.empty() ? "" : header_.tensors.back().name + ": ";
    fault_ = fmt::format("{}expected another structure, got {}", where, got);
    return false;
  }

  bool begin_name(const std::string& name) {
    if (name.size() > kSafetensorsNameBytesMax) return refuse("a name that is too long");
    if (!names_.insert(name).second) return refuse("a name twice");
    if (name == "__metadata__") return go(Place::kMetadataStart);
    if (header_.tensors.size() == kSafetensorsTensorsMax) return refuse("too many tensors");
    header_.tensors.push_back({.name = name, .dtype = {}, .shape = {}});
    seen_ = 0;
    offsets_.clear();
    return go(Place::kTensorStart);
  }

  bool begin_field(const std::string& field) {
    if (field == "dtype") return see(kSeenDtype, Place::kDtype);
    if (field == "shape") return see(kSeenShape, Place::kShapeStart);
    if (field == "data_offsets") return see(kSeenOffsets, Place::kOffsetsStart);
    return refuse("an unknown field");
  }

  bool see(unsigned field, Place place) {
    if ((seen_ & field) != 0) return refuse("a field twice");
    seen_ |= field;
    return go(place);
  }

  Place place_ = Place::kStart;
  unsigned seen_ = 0;  // fields of the present tensor
  std::vector<std::uint64_t> offsets_;
  std::string metadata_key_;
  std::set<std::string, std::less<>> names_;
  Header header_;
  std::string fault_;
};

// Walks through the text and leaves behind how far it came.
class WatchedByte {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = char;

  WatchedByte(const std::uint8_t* at, const std::uint8_t** latest) : at_(at), latest_(latest) {}
  char operator*() const { return static_cast<char>(*at_); }
  WatchedByte& operator++() {
    *latest_ = ++at_;
    return *this;
  }
  friend bool operator==(const WatchedByte& a, const WatchedByte& b) { return a.at_ == b.at_; }

 private:
  const std::uint8_t* at_;
  const std::uint8_t** latest_;
};

}  // namespace

Result<Header> parse_header(ByteSpan text) {
  if (text.empty() || text[0] != '{') {
    return corrupt(
        "safetensors: expected { at offset 8, where the header begins, got another byte");
  }
  HeaderReader reader;
  const std::uint8_t* latest = text.data();
  const WatchedByte begin(text.data(), &latest);
  const WatchedByte end(text.data() + text.size(), &latest);
  if (!Json::sax_parse(begin, end, &reader)) {
    // The header follows its length of 8 bytes.
    return corrupt(fmt::format("safetensors: {} before byte {} of the file", reader.fault(),
                               latest - text.data() + 8));
  }
  return reader.take();
}

std::string json_text(std::string_view text) {
  return Json(text).dump(-1, ' ', true, Json::error_handler_t::replace);
}

}  // namespace weft
