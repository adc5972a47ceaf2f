// The exchanging side of what a swarm agrees on: codecs, sums, robust rules, gates and codes.
#include <memory>

#include <fmt/format.h>

#include "agreed.h"
#include "weft/aggregate/aggregator.h"
#include "weft/aggregate/aggregator_def.h"
#include "weft/base/check.h"
#include "weft/code/code_def.h"
#include "weft/code/coding_scheme.h"
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

// What three members share over rounds, of matrices and of values outside of them.
void add_shared(const Codec& codec, Rng& rng, Bits& bits) {
  const auto layout =
      std::make_shared<const MatrixLayout>(MatrixLayout{1000, {{7, 20, 31}, {640, 30, 11}}});
  std::vector<ErrorFeedback> members(3, ErrorFeedback(codec.with_layout(layout)));
  for (std::uint64_t round = 1; round <= 5; ++round) {
    std::vector<float> decoded(layout->elements);
    std::vector<float> sum(layout->elements);
    for (ErrorFeedback& member : members) {
      member.open(layout->elements, round);
      const Bytes payload = member.encode(random_values(layout->elements, kNormal, rng), round);
      WEFT_CHECK(member.decode(payload, decoded).ok());
      codec.add(decoded, sum);
      bits.add(payload);
    }
    for (ErrorFeedback& member : members) {
      member.commit();
      member.take_result(sum);
    }
    bits.add(sum).add(members.back().shared()->values);
  }
}

std::vector<std::vector<float>> updates(std::size_t members, std::size_t size, Rng& rng) {
  std::vector<std::vector<float>> all(members);
  for (std::vector<float>& update : all) update = random_values(size, kNormal, rng);
  all.front() = odd_values(size, rng);
  return all;
}

void add_coefficient(const Coefficient& coefficient, Bits& bits) {
  bits.add(coefficient.real()).add(coefficient.imag());
}

// What all do in eight rounds, and the coefficients of each job, where worker r is late in round r.
void add_coded_rounds(CodedRounds& rounds, Bits& bits) {
  for (std::int64_t round = 1; round <= 8; ++round) {
    for (std::size_t worker = 0; worker < rounds.workers(); ++worker) {
      const std::vector<MiniTask>& tasks = rounds.task(worker, round);
      for (std::size_t i = 0; i < tasks.size(); ++i) {
        bits.add(static_cast<double>(tasks[i].job));
        for (const ChunkTerm& term : tasks[i].terms) {
          bits.add(static_cast<double>(term.chunk));
          add_coefficient(term.coefficient, bits);
        }
        if (static_cast<std::int64_t>(worker) == round) continue;
        WEFT_CHECK(rounds.delivered({worker, round, i}).ok());
      }
    }
    const auto decoded = rounds.decode(std::max<std::int64_t>(1, round - rounds.delay()));
    if (decoded.ok()) {
      for (const MessageTerm& term : decoded->terms) add_coefficient(term.coefficient, bits);
    }
    rounds.end_round();
  }
}

void add_coded_blocks(const CodedBlocks& blocks, Bits& bits) {
  std::vector<bool> answered(blocks.workers(), true);
  answered[1] = answered[2] = false;
  for (std::size_t worker = 0; worker < blocks.workers(); ++worker) bits.add(blocks.encode(worker));
  for (const std::vector<double>& row : blocks.decode(answered).value()) bits.add(row);
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
      if (codec.has_shared()) add_shared(codec, rng, bits);
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

void add_codes(Lines& lines) {
  constexpr std::size_t kWorkers = 12;
  for (const CodeDef* def : codes()) {
    for (const std::string& text : texts_of(*def)) {
      const Result<CodingScheme> scheme = CodingScheme::parse(text);
      if (!scheme.ok()) continue;  // the option's end asks for another of a second one
      Bits bits;
      if (scheme->has_rounds()) {
        const auto rounds = scheme->coded_rounds(kWorkers, 0);
        if (!rounds.ok()) continue;  // the option's end asks for more workers
        add_coded_rounds(**rounds, bits);
      } else {
        const auto blocks = scheme->coded_blocks(kWorkers);
        if (!blocks.ok()) continue;
        add_coded_blocks(**blocks, bits);
      }
      lines.emplace_back("code/" + text, bits.hash());
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
