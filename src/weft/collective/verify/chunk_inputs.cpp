#include "weft/collective/verify/chunk_inputs.h"

#include <algorithm>
#include <string_view>

#include "weft/base/check.h"
#include "weft/wire/codec.h"

namespace weft {

static Bytes purpose_of(const ExchangeId& id, const PeerId& contributor, Rank chunk) {
  static constexpr std::string_view kPurpose = "weft input 1";
  Writer out;
  out.text(kPurpose).view(id.view).round(id.round).u8(id.exchange).peer(contributor);
  out.u32(static_cast<std::uint32_t>(chunk.value()));
  return out.take();
}

Hash256 ChunkInputs::digest(Rank contributor, Rank chunk, std::span<const float> vector) const {
  Sha256 hash;
  hash.update(purpose_of(id_, members_[index(contributor)], chunk));
  for (const std::uint32_t each : table_.segments_of(chunk)) {
    const Segment& segment = table_.segment(each);
    hash.update(as_bytes(vector.subspan(static_cast<std::size_t>(segment.offset),
                                        static_cast<std::size_t>(segment.elements))));
  }
  return hash.finish();
}

Hash256 ChunkInputs::digest_of(Rank contributor, Rank chunk, std::span<const float> values) const {
  return Sha256()
      .update(purpose_of(id_, members_[index(contributor)], chunk))
      .update(as_bytes(values))
      .finish();
}

void ChunkInputs::commit(Rank contributor, std::vector<Hash256> digests) {
  WEFT_CHECK(digests.size() == members_.size());
  if (!committed(contributor)) committed_[index(contributor)] = std::move(digests);
}

bool ChunkInputs::has_all(Rank chunk) const {
  for (int rank = 0; rank < table_.members(); ++rank) {
    if (!has(chunk, Rank(rank))) return false;
  }
  return true;
}

std::vector<std::span<const float>> ChunkInputs::all(Rank chunk) const {
  std::vector<std::span<const float>> inputs;
  inputs.reserve(static_cast<std::size_t>(table_.members()));
  for (int rank = 0; rank < table_.members(); ++rank) {
    inputs.push_back(std::as_const(*inputs_.at({chunk.value(), rank})).span());
  }
  return inputs;
}

SharedBytes ChunkInputs::piece(std::uint32_t segment, Rank contributor) const {
  const std::shared_ptr<FloatBuffer>& buffer =
      inputs_.at({table_.segment(segment).owner.value(), contributor.value()});
  return {buffer,
          as_bytes(std::as_const(*buffer).span().subspan(
              table_.place(segment), static_cast<std::size_t>(table_.segment(segment).elements)))};
}

void ChunkInputs::put(Rank chunk, Rank contributor, std::span<const float> values) {
  auto buffer = std::make_shared<FloatBuffer>(static_cast<std::int64_t>(values.size()));
  std::ranges::copy(values, buffer->span().begin());
  inputs_.emplace(Key{chunk.value(), contributor.value()}, std::move(buffer));
}

std::size_t ChunkInputs::number(std::uint32_t segment) const {
  const std::span<const std::uint32_t> all = table_.segments_of(table_.segment(segment).owner);
  return static_cast<std::size_t>(std::ranges::lower_bound(all, segment) - all.begin());
}

bool ChunkInputs::here(From from, std::uint32_t segment) const {
  const auto found = parts_.find(key(from, segment));
  return found != parts_.end() && found->second.here[number(segment)];
}

MutableByteSpan ChunkInputs::place(From from, std::uint32_t segment) {
  const Rank chunk = table_.segment(segment).owner;
  Part& part = parts_[key(from, segment)];
  if (!part.values) {
    part.values =
        std::make_shared<FloatBuffer>(static_cast<std::int64_t>(table_.elements_of(chunk)));
    part.here.resize(table_.segments_of(chunk).size());
    part.missing = part.here.size();
  }
  const std::span<float> values = part.values->span().subspan(
      table_.place(segment), static_cast<std::size_t>(table_.segment(segment).elements));
  return {reinterpret_cast<std::uint8_t*>(values.data()), values.size_bytes()};
}

ChunkInputs::Arrival ChunkInputs::arrived(From from, std::uint32_t segment) {
  const Rank chunk = table_.segment(segment).owner;
  const auto found = parts_.find(key(from, segment));
  WEFT_CHECK(found != parts_.end() && committed(from.contributor));
  Part& part = found->second;
  part.here[number(segment)] = true;
  if (--part.missing > 0) return Arrival::kIncomplete;
  const std::shared_ptr<FloatBuffer> values = std::move(part.values);
  parts_.erase(found);
  const Hash256& wanted = (*committed_[index(from.contributor)])[index(chunk)];
  if (digest_of(from.contributor, chunk, std::as_const(*values).span()) != wanted) {
    return Arrival::kDiffers;
  }
  inputs_.emplace(Key{chunk.value(), from.contributor.value()}, values);
  return Arrival::kMatches;
}

void ChunkInputs::forget_chunk(Rank chunk) {
  std::erase_if(inputs_, [chunk](const auto& each) { return each.first.first == chunk.value(); });
}

}  // namespace weft
