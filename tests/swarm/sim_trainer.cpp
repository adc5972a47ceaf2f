#include "sim_trainer.h"

#include <cmath>
#include <cstring>

namespace weft::sim {

static constexpr int kModulus = 4093;

static std::uint64_t mix(std::uint64_t value) {
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111ebULL;
  return value ^ (value >> 31U);
}

SimTrainer::SimTrainer(std::size_t elements) : state_(elements) {
  for (std::size_t i = 0; i < elements; ++i) state_[i] = static_cast<float>(mix(i) % kModulus);
}

std::vector<float> SimTrainer::gradient(int begin, int end) const {
  std::vector<float> sums(state_.size());
  for (int item = begin; item < end; ++item) {
    const std::uint64_t salt = mix((round_ + 1) * kGlobalBatch + static_cast<std::uint64_t>(item));
    for (std::size_t i = 0; i < state_.size(); ++i) {
      const auto value = static_cast<std::uint64_t>(state_[i]);
      sums[i] += static_cast<float>((salt + 31 * i + 7 * value) % 101);
    }
  }
  return sums;
}

void SimTrainer::apply(std::span<const float> reduced) {
  for (std::size_t i = 0; i < state_.size(); ++i) {
    state_[i] = std::fmod(3 * state_[i] + reduced[i], static_cast<float>(kModulus));
  }
  ++round_;
}

Hash128 SimTrainer::hash() const { return xxh3_128(as_bytes(std::span<const float>(state_))); }

Bytes SimTrainer::serialise() const {
  Bytes bytes(sizeof round_ + state_.size() * sizeof(float));
  std::memcpy(bytes.data(), &round_, sizeof round_);
  std::memcpy(bytes.data() + sizeof round_, state_.data(), state_.size() * sizeof(float));
  return bytes;
}

Status SimTrainer::load(ByteSpan bytes) {
  if (bytes.size() != sizeof round_ + state_.size() * sizeof(float)) return corrupt("state size");
  std::memcpy(&round_, bytes.data(), sizeof round_);
  std::memcpy(state_.data(), bytes.data() + sizeof round_, state_.size() * sizeof(float));
  return {};
}

std::vector<Hash128> expected(std::size_t elements, std::uint64_t rounds) {
  SimTrainer trainer(elements);
  std::vector<Hash128> hashes{trainer.hash()};
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    trainer.apply(trainer.gradient(0, SimTrainer::kGlobalBatch));
    hashes.push_back(trainer.hash());
  }
  return hashes;
}

}  // namespace weft::sim
