#include "weft/data/rows.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace weft {
namespace {

struct ColumnMoments {
  double mean = 0.0;
  double deviation = 1.0;
  std::int64_t missing = 0;
};

// The moments of one column of f32 [n, columns], over what is no NaN.
ColumnMoments moments_of(const Array& values, std::int64_t column) {
  const std::int64_t columns = values.dim(1);
  const std::int64_t rows = values.dim(0);
  const auto value = [&](std::int64_t row) {
    return static_cast<double>(values.data<float>()[row * columns + column]);
  };
  ColumnMoments moments;
  for (std::int64_t row = 0; row < rows; ++row) {
    if (std::isnan(value(row))) {
      ++moments.missing;
    } else {
      moments.mean += value(row);
    }
  }
  const auto there = static_cast<double>(rows - moments.missing);
  if (there <= 0) return moments;
  moments.mean /= there;
  double square = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    if (std::isnan(value(row))) continue;
    const double apart = value(row) - moments.mean;
    square += apart * apart;
  }
  const double deviation = std::sqrt(square / there);
  if (deviation > 0 && std::isfinite(deviation)) moments.deviation = deviation;
  return moments;
}

std::string name_of(const std::string& name, std::size_t place) {
  return name.empty() ? fmt::format("column {}", place) : fmt::format("column \"{}\"", name);
}

template <class Described>
void number_names(std::vector<Described>& all, std::int64_t count) {
  all.resize(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].name.empty()) all[i].name = std::to_string(i);
  }
}

// One value of a file to the features of its column.
void encode_value(const ColumnDescription& column, float value, float* out) {
  if (column.words.empty()) {
    *out = std::isnan(value) ? 0.0F
                             : static_cast<float>((static_cast<double>(value) - column.mean) *
                                                  (1.0 / column.deviation));
    return;
  }
  const auto count = column.words.size();
  std::fill_n(out, count, 0.0F);
  if (value >= 0 && value < static_cast<float>(count)) out[static_cast<std::size_t>(value)] = 1.0F;
}

}  // namespace

Status describe_rows(Dataset& training) {
  const Array rows = training.rows.contiguous();
  number_names(training.columns, rows.dim(1));
  for (std::size_t i = 0; i < training.columns.size(); ++i) {
    ColumnDescription& column = training.columns[i];
    const ColumnMoments moments = moments_of(rows, static_cast<std::int64_t>(i));
    column.missing = moments.missing;
    if (!column.words.empty()) continue;
    column.mean = moments.mean;
    column.deviation = moments.deviation;
  }
  if (!training.targets.defined()) {
    number_names(training.target_columns, 1);
    return {};
  }
  const Array targets = training.targets.contiguous();
  number_names(training.target_columns, targets.dim(1));
  for (std::size_t i = 0; i < training.target_columns.size(); ++i) {
    TargetDescription& target = training.target_columns[i];
    const ColumnMoments moments = moments_of(targets, static_cast<std::int64_t>(i));
    if (moments.missing > 0 || !std::isfinite(moments.mean)) {
      return invalid_argument(
          fmt::format("{}: {}: expected a value to learn in every row, got {} rows without one; "
                      "leave those rows out",
                      training.name, name_of(target.name, i), moments.missing));
    }
    target.mean = moments.mean;
    target.deviation = moments.deviation;
  }
  return {};
}

Result<Array> encode_rows(const DataDescription& data, const Array& rows) {
  const auto columns = static_cast<std::int64_t>(data.columns.size());
  if (rows.ndim() != 2 || rows.dim(1) != columns) {
    return invalid_argument(fmt::format("{}: expected rows of {} columns, got {}", data.name,
                                        columns, to_string(rows.shape())));
  }
  const Array values = rows.to(DType::kF32).contiguous();
  Array encoded = Array::empty({values.dim(0), data.features()});
  const float* in = values.data<float>();
  float* out = encoded.data<float>();
  for (std::int64_t row = 0; row < values.dim(0); ++row) {
    for (std::size_t i = 0; i < data.columns.size(); ++i, ++in) {
      if (std::isinf(*in)) {
        return invalid_argument(fmt::format("{}: row {}, {}: expected a finite number, got {}",
                                            data.name, row, name_of(data.columns[i].name, i), *in));
      }
      encode_value(data.columns[i], *in, out);
      out += data.columns[i].features();
    }
  }
  return encoded;
}

void scale_targets(const DataDescription& data, std::span<float> values) {
  const std::size_t count = data.target_columns.size();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const TargetDescription& target = data.target_columns[i % count];
    values[i] = static_cast<float>((static_cast<double>(values[i]) - target.mean) *
                                   (1.0 / target.deviation));
  }
}

void scale_back(const DataDescription& data, std::span<float> values) {
  const std::size_t count = data.target_columns.size();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const TargetDescription& target = data.target_columns[i % count];
    values[i] = static_cast<float>(static_cast<double>(values[i]) * target.deviation + target.mean);
  }
}

Status apply_description(const DataDescription& of, Dataset& dataset) {
  WEFT_TRY_ASSIGN(dataset.rows, encode_rows(of, dataset.rows));
  if (dataset.targets.defined()) {
    if (!of.has_values() ||
        dataset.targets.dim(1) != static_cast<std::int64_t>(of.target_columns.size())) {
      return invalid_argument(fmt::format("{}: expected {} values to learn, got {}", dataset.name,
                                          of.has_values() ? of.target_columns.size() : 0,
                                          dataset.targets.dim(1)));
    }
    dataset.targets = dataset.targets.to(DType::kF32).contiguous().clone();
    scale_targets(of, dataset.targets.flat<float>());
  }
  const std::string name = std::move(dataset.name);
  static_cast<DataDescription&>(dataset) = of;
  dataset.name = name;
  return {};
}

std::vector<std::string> missing_notes(const DataDescription& data) {
  std::vector<std::string> notes;
  for (std::size_t i = 0; i < data.columns.size(); ++i) {
    const ColumnDescription& column = data.columns[i];
    if (column.missing == 0) continue;
    const std::string becomes =
        column.words.empty() ? fmt::format("the mean, {:.6g}", column.mean) : "none of its words";
    notes.push_back(fmt::format("{}: {}: {} training rows have no value; it counts as {}",
                                data.name, name_of(column.name, i), column.missing, becomes));
  }
  return notes;
}

}  // namespace weft
