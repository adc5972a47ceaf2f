// Gate: what becomes of gradients that came too late for their round.
//
// A text names one with its options: "carry", "polynomial:exponent=1". Each file NAME_gate.cpp is
// one; see docs/HACKING.md to add one.
//
// A gate says with what weight late gradients count in a later round, and may change them to what
// they would be at the parameters of that round. Weight and samples go together: gradients g of n
// samples that count with the weight w come to w g and w n, and the round is the sum of all
// gradients over the sum of all samples. So a weight is that of a mean: it damps late gradients
// against fresh ones, and a round of late gradients alone is their plain mean. Published rules that
// scale a step by the staleness of its gradient do the same to each gradient, but leave the
// divisor.
//
// Where it stands: train's MemberPart asks it; which gradients it keeps, and for how long, is
// decided there. Threads: immutable once parsed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/status.h"

namespace weft {

struct GateDef;  // gate_def.h

// When gradients come to be used, against when they were computed.
struct Lateness {
  // Rounds in between; 1: in the round after their own.
  std::int64_t staleness = 1;
  // The round that they were computed for, from 1.
  std::int64_t round = 1;
};

// The parameters that late gradients were computed with, and those of the round that they come to
// be used in. All of one length, that of the gradients.
struct MovedParameters {
  std::span<const float> then;
  std::span<const float> now;
  // The share of the round's mean that the gradients stand for, in (0, 1].
  double part = 1;
};

class Gate {
 public:
  // "drop".
  Gate();
  // kInvalidArgument for an unknown name (says the nearest), an option that the gate has not or
  // that is out of its range.
  static Result<Gate> parse(std::string_view text);

  // As it was parsed, without options that have their default.
  std::string text() const;
  // Whether any late gradients count. If not, nobody need keep them.
  bool keeps() const;
  // In [0, 1], never more for older gradients of one round. 0: they do not count. REQUIRES:
  // staleness and round of at least 1.
  double weight(const Lateness& late) const;
  // Whether correct() changes anything, for which parameters must be kept.
  bool corrects() const;
  // Changes gradients of parameters, and of nothing else, in place. Where no parameter has moved
  // they keep their bits; a value that would not be finite stays as it was.
  void correct(const MovedParameters& moved, std::span<float> gradients) const;

 private:
  const GateDef* def_ = nullptr;
  // In the order of the gate's options.
  std::vector<double> options_;
};

// All gates, by name.
std::span<const GateDef* const> gates();

}  // namespace weft
