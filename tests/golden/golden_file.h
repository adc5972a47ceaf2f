// GoldenFile: the arrays of a file that PyTorch wrote (README.md), and how close to them is equal.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "weft/autograd/backward.h"
#include "weft/base/file.h"
#include "weft/io/safetensors.h"

namespace weft {

class GoldenFile {
 public:
  explicit GoldenFile(const std::string& name) {
    Result<Bytes> bytes = read_file(std::string(WEFT_GOLDEN_DIR) + "/" + name, 1 << 20);
    WEFT_CHECK(bytes.ok());
    const Result<SafetensorsView> view = parse_safetensors(bytes.value());
    WEFT_CHECK(view.ok());
    for (const SafetensorsEntry& entry : view.value().entries) {
      const Result<Array> array = to_array(entry);
      WEFT_CHECK(array.ok());
      arrays_[entry.name] = array.value().clone();
    }
  }

  bool has(const std::string& name) const { return arrays_.count(name) != 0; }
  Array get(const std::string& name) const {
    WEFT_CHECK(has(name));
    return arrays_.at(name);
  }
  // The part before the last '/' of every name.
  std::set<std::string> cases() const {
    std::set<std::string> result;
    for (const auto& [name, array] : arrays_) result.insert(name.substr(0, name.rfind('/')));
    return result;
  }
  const std::map<std::string, Array>& arrays() const { return arrays_; }

 private:
  std::map<std::string, Array> arrays_;
};

inline double tolerance_of(DType dtype) { return dtype == DType::kF64 ? 1e-12 : 1e-5; }

// Relative to the largest value wanted, which counts as at least 0.05.
inline void expect_close(const Array& got, const Array& want, double tolerance) {
  ASSERT_EQ(to_string(got.shape()), to_string(want.shape()));
  const std::vector<double> a = got.strided().to(DType::kF64).to_vector<double>();
  const std::vector<double> b = want.to(DType::kF64).to_vector<double>();
  double largest = 0.05;
  for (const double value : b) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_NEAR(a[i], b[i], tolerance * largest) << "element " << i;
  }
}

using GoldenInputs = std::vector<Tensor>;
struct GoldenCase {
  const char* name;
  Tensor (*run)(const GoldenInputs& in);
};

// The output of one case and the gradients of its floating inputs.
inline void check_case(const GoldenFile& file, const GoldenCase& op, DType dtype) {
  const std::string name = op.name;
  GoldenInputs inputs;
  for (int i = 0; file.has(name + "/input" + std::to_string(i)); ++i) {
    const Array x = file.get(name + "/input" + std::to_string(i));
    const bool is_float = x.dtype() == DType::kF64;
    inputs.emplace_back(is_float ? x.to(dtype) : x, is_float);
  }
  const Tensor output = op.run(inputs);
  expect_close(output.array(), file.get(name + "/output"), tolerance_of(dtype));
  BackwardOptions options;
  options.gradient = file.get(name + "/weights").to(dtype);
  backward(output, GradientSink(), options);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].requires_grad()) continue;
    SCOPED_TRACE("gradient of input " + std::to_string(i));
    expect_close(inputs[i].grad(), file.get(name + "/gradient" + std::to_string(i)),
                 tolerance_of(dtype));
  }
}

}  // namespace weft
