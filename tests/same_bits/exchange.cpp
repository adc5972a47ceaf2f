// The exchanging side of what a swarm agrees on: codecs, sums, robust rules and gates.
#include <fmt/format.h>

#include "agreed.h"
#include "weft/aggregate/aggregator.h"
#include "weft/aggregate/aggregator_def.h"
#include "weft/base/check.h"
#include "weft/codec/codec.h"
#include "weft/codec/codec_def.h"
#include "weft/codec/error_feedback.h"
#include "weft/collective/reduce/input_pieces.h"
#include "weft/gate/gate.h"
#include "weft/gate/gate_def.h"

namespace weft::same_bits {
namespace {

// Names of a table's entry with its defaults, and with each option at both ends of its range.
template <class Def>
std::vector<std::string> texts_of(const Def& def) {
  std::vector<std::string> texts = {std::string(def.name)};
  for (const Option& option : def.options) {
    texts.push_back(fmt::format("{}:{}={}", def.name, option.name, option.min));
    texts.push_back(fmt::format("{}:{}={}", def.name, option.name, option.max));
  }
  return texts;
}

// A payload, what it decodes to, and the sum of what two members sent.
void add_payloads(const Codec& codec, const std::vector<float>& values, Bits& bits) {
  std::vector<float> decoded(values.size());
  std::vector<float> sum(values.size());
  for (const std::uint64_t seed : {7, 8}) {
    const Bytes payload = codec.encode(values, seed);
    WEFT_CHECK(codec.decode(payload, decoded).ok());
    codec.add(decoded, sum);
    bits.add(payload).add(decoded);
  }
  codec.finish(sum);
  bits.add(sum);
}

void add_feedback(const Codec& codec, Rng& rng, Bits& bits) {
  ErrorFeedback feedback(codec);
  for (std::uint64_t round = 0; round < 3; ++round) {
    bits.add(feedback.encode(random_values(1000, kNormal, rng), round));
    feedback.commit();
  }
}

std::vector<std::vector<float>> updates(std::size_t members, std::size_t size, Rng& rng) {
  std::vector<std::vector<float>> all(members);
  for (std::vector<float>& update : all) update = random_values(size, kNormal, rng);
  all.front() = odd_values(size, rng);
  return all;
}

}  // namespace

void add_codecs(Lines& lines) {
  for (const CodecDef* def : codecs()) {
    for (const std::string& text : texts_of(*def)) {
      const Codec codec = Codec::parse(text).value();
      Bits bits;
      Rng rng(9);
      for (const std::size_t length : kLengths) {
        for (const Magnitudes& magnitudes : kAllMagnitudes) {
          add_payloads(codec, random_values(length, magnitudes, rng), bits);
        }
        add_payloads(codec, odd_values(length, rng), bits);
      }
      add_feedback(codec, rng, bits);
      lines.emplace_back("codec/" + text, bits.hash());
    }
  }
}

void add_sums(Lines& lines) {
  Bits bits;
  Rng rng(10);
  for (const std::size_t length : kLengths) {
    for (const Magnitudes& magnitudes : kAllMagnitudes) {
      const std::vector<float> own = random_values(length, magnitudes, rng);
      const std::vector<float> received = random_values(length, kAllMagnitudes[0], rng);
      std::vector<float> sum(length);
      add_floats(as_bytes(std::span<const float>(received)).data(), own.data(), sum.data(), length);
      bits.add(sum);
    }
  }
  lines.emplace_back("sum/add_floats", bits.hash());
}

void add_aggregators(Lines& lines) {
  constexpr std::size_t kMembers = 11;
  for (const AggregatorDef* def : aggregators()) {
    for (const std::string& text : texts_of(*def)) {
      const Aggregator rule = Aggregator::parse(text).value();
      if (!rule.check(kMembers, 2).ok()) continue;  // the option's end asks for more members
      Bits bits;
      Rng rng(11);
      for (const std::size_t length : kLengths) {
        const std::vector<std::vector<float>> all = updates(kMembers, length, rng);
        const std::vector<std::span<const float>> inputs(all.begin(), all.end());
        std::vector<float> out(length);
        rule.aggregate(inputs, {.liars = 2, .seed = 12}, out);
        bits.add(out);
      }
      lines.emplace_back("aggregate/" + text, bits.hash());
    }
  }
}

void add_gates(Lines& lines) {
  for (const GateDef* def : gates()) {
    for (const std::string& text : texts_of(*def)) {
      const Gate gate = Gate::parse(text).value();
      Bits bits;
      Rng rng(13);
      for (std::int64_t round = 1; round <= 30; ++round) {
        for (std::int64_t staleness = 1; staleness <= 30; ++staleness) {
          bits.add(gate.weight({.staleness = staleness, .round = round}));
        }
      }
      for (const std::size_t length : kLengths) {
        const std::vector<float> then = random_values(length, kNormal, rng);
        const std::vector<float> now = random_values(length, kNormal, rng);
        std::vector<float> gradients = random_values(length, kNormal, rng);
        gate.correct({.then = then, .now = now, .part = 0.3}, gradients);
        bits.add(gradients);
      }
      lines.emplace_back("gate/" + text, bits.hash());
    }
  }
}

}  // namespace weft::same_bits
