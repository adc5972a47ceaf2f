// WeightMatrix: weighted sums of the members' updates, one per row.
//
// It is the decision of a rule that compares whole updates: a row with a single 1 picks a member's
// update, a row of equal weights is the mean of some. Threads: a value.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace weft {

class WeightMatrix {
 public:
  WeightMatrix() = default;
  // All weights are 0.
  WeightMatrix(int rows, int inputs)
      : rows_(rows),
        inputs_(inputs),
        weights_(static_cast<std::size_t>(rows) * static_cast<std::size_t>(inputs)) {}
  static WeightMatrix identity(int inputs) {
    WeightMatrix result(inputs, inputs);
    for (int i = 0; i < inputs; ++i) result.at(i, i) = 1;
    return result;
  }

  int rows() const { return rows_; }
  int inputs() const { return inputs_; }
  double& at(int row, int input) { return weights_[index(row, input)]; }
  double at(int row, int input) const { return weights_[index(row, input)]; }
  std::span<const double> row(int row) const {
    return std::span(weights_).subspan(index(row, 0), static_cast<std::size_t>(inputs_));
  }

  // Sums of this one's rows, in terms of its inputs. REQUIRES: next.inputs() == rows().
  WeightMatrix followed_by(const WeightMatrix& next) const {
    WeightMatrix result(next.rows(), inputs_);
    for (int row = 0; row < next.rows(); ++row) {
      for (int middle = 0; middle < rows_; ++middle) {
        const double weight = next.at(row, middle);
        // A weight of 0 leaves an update out, even one that is not finite.
        if (weight == 0) continue;
        for (int input = 0; input < inputs_; ++input) {
          result.at(row, input) += weight * at(middle, input);
        }
      }
    }
    return result;
  }

  friend bool operator==(const WeightMatrix&, const WeightMatrix&) = default;

 private:
  std::size_t index(int row, int input) const {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(inputs_) +
           static_cast<std::size_t>(input);
  }

  int rows_ = 0;
  int inputs_ = 0;
  std::vector<double> weights_;
};

}  // namespace weft
