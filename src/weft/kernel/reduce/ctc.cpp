#include "weft/kernel/reduce/ctc.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "weft/array/launch.h"
#include "weft/base/parallel.h"

namespace weft {
namespace {

constexpr double kImpossible = -std::numeric_limits<double>::infinity();

double log_add(double a, double b) {
  const double high = std::max(a, b);
  if (high == kImpossible) return kImpossible;
  return high + std::log1p(std::exp(std::min(a, b) - high));
}

[[noreturn]] void refuse(const std::string& expected, std::int64_t got) {
  throw std::invalid_argument("[ctc_loss] expected " + expected + ", got " + std::to_string(got));
}

void check(LaunchArrays in, std::int64_t blank) {
  const std::int64_t frames = in[0].dim(0);
  const std::int64_t classes = in[0].dim(2);
  const std::int64_t width = in[1].dim(1);
  for (std::int64_t n = 0; n < in[1].dim(0); ++n) {
    const std::int64_t length = in[3].data<std::int64_t>()[n];
    const std::int64_t time = in[2].data<std::int64_t>()[n];
    if (time < 0 || time > frames) {
      refuse("input lengths in [0, " + std::to_string(frames) + "]", time);
    }
    if (length < 0 || length > width) {
      refuse("target lengths in [0, " + std::to_string(width) + "]", length);
    }
    for (std::int64_t s = 0; s < length; ++s) {
      const std::int64_t label = in[1].data<std::int64_t>()[n * width + s];
      if (label >= 0 && label < classes && label != blank) continue;
      refuse("labels in [0, " + std::to_string(classes) + ") that are not blank", label);
    }
  }
}

// One sample: its labels with blanks around each, and the sums of all paths by place and frame.
template <class T>
class Lattice {
 public:
  Lattice(LaunchArrays in, std::int64_t n, std::int64_t blank)
      : frames_(in[2].data<std::int64_t>()[n]),
        frame_step_(in[0].dim(1) * in[0].dim(2)),
        log_probabilities_(in[0].data<T>() + n * in[0].dim(2)) {
    const std::int64_t length = in[3].data<std::int64_t>()[n];
    const std::int64_t* const labels = in[1].data<std::int64_t>() + n * in[1].dim(1);
    for (std::int64_t s = 0; s < length; ++s) {
      labels_.push_back(blank);
      labels_.push_back(labels[s]);
    }
    labels_.push_back(blank);
    states_ = static_cast<std::int64_t>(labels_.size());
  }

  // ln of the probability of the first t + 1 frames, ending at each place.
  void forward() {
    before_.assign(static_cast<std::size_t>(frames_ * states_), kImpossible);
    for (std::int64_t t = 0; t < frames_; ++t) {
      for (std::int64_t s = 0; s < states_; ++s) {
        double sum = t == 0 ? (s < 2 ? 0.0 : kImpossible) : reached(t - 1, s);
        if (sum != kImpossible) sum += at(t, s);
        before_[place(t, s)] = sum;
      }
    }
  }

  double loss() const {
    if (frames_ == 0) return states_ == 1 ? 0.0 : -kImpossible;
    const double last = before_[place(frames_ - 1, states_ - 1)];
    if (states_ == 1) return -last;
    return -log_add(last, before_[place(frames_ - 1, states_ - 2)]);
  }

  // Adds the probability, given the target, of each class in each frame to `out` [T, N, C].
  void add_posteriors(double loss, T* out) const {
    const auto count = static_cast<std::size_t>(states_);
    std::vector<double> after(count, kImpossible);
    for (std::int64_t t = frames_ - 1; t >= 0; --t) {
      std::vector<double> next(count, kImpossible);
      for (std::int64_t s = 0; s < states_; ++s) {
        double& sum = next[static_cast<std::size_t>(s)];
        if (t == frames_ - 1) {
          if (s >= states_ - 2) sum = 0;
        } else {
          for (std::int64_t to = s; to <= std::min(s + 2, states_ - 1); ++to) {
            if (to == s + 2 && !skips_to(to)) continue;
            sum = log_add(sum, after[static_cast<std::size_t>(to)] + at(t + 1, to));
          }
        }
        out[t * frame_step_ + labels_[static_cast<std::size_t>(s)]] +=
            static_cast<T>(std::exp(before_[place(t, s)] + sum + loss));
      }
      after = std::move(next);
    }
  }

 private:
  std::size_t place(std::int64_t t, std::int64_t s) const {
    return static_cast<std::size_t>(t * states_ + s);
  }
  double at(std::int64_t t, std::int64_t s) const {
    return static_cast<double>(
        log_probabilities_[t * frame_step_ + labels_[static_cast<std::size_t>(s)]]);
  }
  // Whether a path may leave out the blank before place s: only between different labels.
  bool skips_to(std::int64_t s) const {
    const auto i = static_cast<std::size_t>(s);
    return s % 2 == 1 && s >= 3 && labels_[i] != labels_[i - 2];
  }
  double reached(std::int64_t t, std::int64_t s) const {
    double sum = before_[place(t, s)];
    if (s >= 1) sum = log_add(sum, before_[place(t, s - 1)]);
    if (skips_to(s)) sum = log_add(sum, before_[place(t, s - 2)]);
    return sum;
  }

  std::int64_t frames_;
  std::int64_t frame_step_;
  const T* log_probabilities_;
  std::vector<std::int64_t> labels_;
  std::int64_t states_ = 0;
  std::vector<double> before_;
};

template <class T>
void compute_ctc(const CtcRule& rule, LaunchArrays in, LaunchArrays out) {
  check(in, rule.blank);
  T* const losses = out[0].data<T>();
  T* const posteriors = out.size() > 1 ? out[1].data<T>() : nullptr;
  if (posteriors != nullptr) std::fill_n(posteriors, out[1].size(), T{});
  parallel_for(in[0].dim(1), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n) {
      Lattice<T> lattice(in, n, rule.blank);
      lattice.forward();
      const double loss = lattice.loss();
      const bool dropped = rule.zero_infinity && loss == -kImpossible;
      losses[n] = dropped ? T{} : static_cast<T>(loss);
      if (posteriors != nullptr && !dropped) {
        lattice.add_posteriors(loss, posteriors + n * in[0].dim(2));
      }
    }
  });
}

}  // namespace

CtcRows ctc_rows(const CtcInput& input, const CtcRule& rule, bool with_posteriors) {
  const Array from = input.log_probabilities.contiguous();
  CtcRows rows{Array::empty({from.dim(1)}, from.dtype(), from.device()), {}};
  const auto body = [rule](LaunchArrays in, LaunchArrays out) {
    if (in[0].dtype() == DType::kF32) {
      compute_ctc<float>(rule, in, out);
    } else {
      compute_ctc<double>(rule, in, out);
    }
  };
  const Array* const inputs[] = {&from, &input.targets, &input.input_lengths,
                                 &input.target_lengths};
  if (with_posteriors) rows.posteriors = Array::empty(from.shape(), from.dtype(), from.device());
  Array* const outputs[] = {&rows.losses, &rows.posteriors};
  launch("ctc_loss", std::span<const Array* const>(inputs),
         std::span<Array* const>(outputs, with_posteriors ? 2 : 1), body);
  return rows;
}

}  // namespace weft
