#include "weft/codec/codec.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "weft/base/check.h"
#include "weft/base/hash.h"
#include "weft/base/nearest_name.h"
#include "weft/base/text/option_text.h"
#include "weft/codec/codec_def.h"
#include "weft/codec/loops/codec_loops.h"

namespace weft {

#define WEFT_PLUGIN(name) extern const CodecDef name##_codec;
#include "codec_table.inc"
#undef WEFT_PLUGIN

static constexpr const CodecDef* kCodecs[] = {
#define WEFT_PLUGIN(name) &name##_codec,
#include "codec_table.inc"
#undef WEFT_PLUGIN
};

static constexpr std::size_t kCodecTextMax = 256;

std::span<const CodecDef* const> codecs() { return kCodecs; }

Codec::Codec() { set(f32_codec, {}); }

void Codec::set(const CodecDef& def, std::vector<double> options) {
  def_ = &def;
  options_ = std::move(options);
  const Hash128 hash = xxh3_128(as_bytes(text()));
  std::memcpy(&id_, hash.data(), sizeof id_);
}

Result<Codec> Codec::parse(std::string_view text) {
  const std::vector<std::string_view> parts =
      split_words(text.substr(0, std::min(text.size(), kCodecTextMax + 1)), ':');
  const std::string_view name = parts.empty() ? text : parts.front();
  const auto* const def = std::ranges::find(kCodecs, name, &CodecDef::name);
  if (def == std::end(kCodecs) || text.size() > kCodecTextMax) {
    std::vector<std::string_view> names;
    for (const CodecDef* each : kCodecs) names.push_back(each->name);
    return invalid_argument(fmt::format("codec: expected one of {}, got \"{}\"{}",
                                        fmt::join(names, ", "), name, did_you_mean(name, names)));
  }
  WEFT_TRY_ASSIGN(std::vector<double> options,
                  parse_options((*def)->name, (*def)->options, std::span(parts).subspan(1)));
  Codec codec;
  codec.set(**def, std::move(options));
  return codec;
}

std::string Codec::text() const {
  return std::string(def_->name) + format_options(def_->options, options_);
}

bool Codec::is_exact() const { return def_->hop == WirePrecision::kF32; }
std::optional<WirePrecision> Codec::hop_precision() const { return def_->hop; }
bool Codec::has_feedback() const { return def_->feedback; }
CodecSum Codec::sum() const { return def_->sum; }

Codec Codec::with_layout(std::shared_ptr<const MatrixLayout> layout) const {
  Codec codec = *this;
  codec.layout_ = std::move(layout);
  return codec;
}

std::size_t Codec::bytes_max(std::size_t elements) const {
  return def_->bytes_max({options_, 0, layout_.get()}, elements);
}

Bytes Codec::encode(std::span<const float> values, std::uint64_t seed,
                    const SharedFactors* shared) const {
  Bytes bytes;
  const std::size_t most = bytes_max(values.size());
  bytes.reserve(most);
  std::optional<SharedFactors> made;
  shared = factors(shared, values.size(), made);
  def_->encode({options_, seed, layout_.get(), shared}, values, bytes);
  WEFT_CHECK(bytes.size() <= most);
  return bytes;
}

Status Codec::decode(ByteSpan bytes, std::span<float> out, const SharedFactors* shared) const {
  std::optional<SharedFactors> made;
  shared = factors(shared, out.size(), made);
  return def_->decode({options_, 0, layout_.get(), shared}, bytes, out);
}

double Codec::loss_max(std::span<const float> values) const {
  return def_->loss_max({options_, 0, layout_.get()}, values);
}

// --- Shared factors.

bool Codec::has_shared() const { return def_->begin_shared != nullptr; }

SharedFactors Codec::begin_shared(std::size_t elements, std::uint64_t seed) const {
  WEFT_CHECK(has_shared());
  return def_->begin_shared({options_, seed, layout_.get()}, elements);
}

SharedFactors Codec::next_shared(const SharedFactors& shared, std::span<const float> result,
                                 std::uint64_t seed) const {
  WEFT_CHECK(has_shared() && result.size() == shared.elements);
  return def_->next_shared({options_, seed, layout_.get(), &shared}, result);
}

const SharedFactors* Codec::factors(const SharedFactors* given, std::size_t elements,
                                    std::optional<SharedFactors>& made) const {
  if (!has_shared()) return nullptr;
  if (given == nullptr) given = &made.emplace(begin_shared(elements, 0));
  WEFT_CHECK(given->elements == elements);
  return given;
}

// --- Combining.

void Codec::add(std::span<const float> decoded, std::span<float> sum) const {
  WEFT_CHECK(decoded.size() == sum.size());
  if (def_->sum == CodecSum::kSum) {
    codec_loops().add(sum.data(), decoded.data(), sum.size());
    return;
  }
  // What is no number votes for nothing.
  for (std::size_t i = 0; i < sum.size(); ++i) {
    sum[i] += static_cast<float>((decoded[i] > 0 ? 1 : 0) - (decoded[i] < 0 ? 1 : 0));
  }
}

void Codec::finish(std::span<float> sum) const {
  if (def_->sum == CodecSum::kSum) return;
  for (float& value : sum) {
    value = static_cast<float>((value > 0 ? 1 : 0) - (value < 0 ? 1 : 0));
  }
}

}  // namespace weft
