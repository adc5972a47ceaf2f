// einsum: contractions of two operands at a time, each one batched matmul; so gradients of any
// order come from the operations it is made of.
#include <algorithm>
#include <cmath>
#include <string>

#include "weft/op/arithmetic.h"
#include "weft/op/core/index_samples.h"
#include "weft/op/core/operands.h"
#include "weft/op/linalg.h"
#include "weft/op/linear/einsum_parse.h"
#include "weft/op/reduce.h"
#include "weft/op/shape.h"

namespace weft {
namespace {

// An operand with a different label for each axis.
struct Term {
  Tensor value;
  Labels labels;

  int axis_of(int label) const {
    return static_cast<int>(std::find(labels.begin(), labels.end(), label) - labels.begin());
  }
  LabelSet set() const { return set_of(labels); }
};

bool has(LabelSet set, int label) { return (set >> label & 1) != 0; }

// A label that repeats: the diagonal of its axes, which must all be of one length.
Term with_diagonals(Tensor value, Labels labels) {
  for (std::size_t i = 0; i < labels.size(); ++i) {
    for (std::size_t j = i + 1; j < labels.size();) {
      if (labels[j] != labels[i]) {
        ++j;
        continue;
      }
      const int label = labels[i];
      const int a = static_cast<int>(i);
      const int b = static_cast<int>(j);
      if (value.dim(a) != value.dim(b)) {
        throw_operand("einsum", "axes of one length for a letter that repeats",
                      to_string(value.shape()));
      }
      value = diagonal(value, 0, a, b);
      labels.erase(labels.begin() + b);
      labels.erase(labels.begin() + a);
      labels.push_back(label);
      j = i + 1;
      if (i >= labels.size()) break;
    }
  }
  return {std::move(value), std::move(labels)};
}

// Sums over the labels that are not in `kept`.
Term summed(const Term& term, LabelSet kept) {
  std::vector<int> axes;
  Labels labels;
  for (std::size_t i = 0; i < term.labels.size(); ++i) {
    if (has(kept, term.labels[i])) {
      labels.push_back(term.labels[i]);
    } else {
      axes.push_back(static_cast<int>(i));
    }
  }
  if (axes.empty()) return term;
  return {sum(term.value, axes), std::move(labels)};
}

// Drops the axes of length 1 whose label is longer in `other`: there it counts alone.
Term without_broadcast(const Term& term, const Term& other) {
  Term result = term;
  for (std::size_t i = result.labels.size(); i-- > 0;) {
    const int label = result.labels[i];
    const int axis = static_cast<int>(i);
    if (!has(other.set(), label) || result.value.dim(axis) != 1) continue;
    if (other.value.dim(other.axis_of(label)) == 1) continue;
    result.value = squeeze(result.value, axis);
    result.labels.erase(result.labels.begin() + axis);
  }
  return result;
}

// As three axes: the labels of each group become one.
Tensor grouped(const Term& term, const std::vector<Labels>& groups) {
  std::vector<int> axes;
  Shape shape;
  for (const Labels& group : groups) {
    std::int64_t length = 1;
    for (const int label : group) {
      axes.push_back(term.axis_of(label));
      length *= term.value.dim(axes.back());
    }
    shape.push_back(length);
  }
  return reshape(permute(term.value, axes), shape);
}

Term contracted(Term left, Term right, LabelSet kept) {
  left = without_broadcast(left, right);
  right = without_broadcast(right, left);
  left = summed(left, kept | right.set());
  right = summed(right, kept | left.set());
  Labels batch;
  Labels inner;
  Labels of_left;
  Labels of_right;
  for (const int label : left.labels) {
    if (!has(right.set(), label)) {
      of_left.push_back(label);
    } else if (has(kept, label)) {
      batch.push_back(label);
    } else {
      inner.push_back(label);
    }
  }
  for (const int label : right.labels) {
    if (!has(left.set(), label)) of_right.push_back(label);
  }
  const Tensor product =
      matmul(grouped(left, {batch, of_left, inner}), grouped(right, {batch, inner, of_right}));
  Shape shape;
  Labels labels;
  for (const Labels* group : {&batch, &of_left, &of_right}) {
    const Term& from = group == &of_right ? right : left;
    for (const int label : *group) {
      labels.push_back(label);
      shape.push_back(from.value.dim(from.axis_of(label)));
    }
  }
  return {reshape(product, shape), std::move(labels)};
}

Tensor in_label_order(const Term& term, const Labels& result) {
  std::vector<int> axes;
  bool same = true;
  for (const int label : result) {
    same = same && term.axis_of(label) == static_cast<int>(axes.size());
    axes.push_back(term.axis_of(label));
  }
  return same ? term.value : permute(term.value, axes);
}

LabelSet kept_after(const std::vector<Term>& others, const Labels& result) {
  LabelSet kept = set_of(result);
  for (const Term& term : others) kept |= term.set();
  return kept;
}

}  // namespace

Tensor einsum(std::string_view equation, std::span<const Tensor> operands) {
  if (operands.empty() || operands.size() > kEinsumOperandsMax) {
    throw_operand("einsum", "1 to " + std::to_string(kEinsumOperandsMax) + " operands",
                  std::to_string(operands.size()));
  }
  std::vector<Shape> shapes;
  for (const Tensor& operand : operands) shapes.push_back(operand.shape());
  const EinsumPlan plan = parse_einsum(equation, shapes);
  std::vector<Term> terms;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    terms.push_back(with_diagonals(operands[i], plan.operands[i]));
  }
  for (const EinsumStep& step : einsum_order(plan)) {
    const Term left = terms[step.left];
    const Term right = terms[step.right];
    terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(step.right));
    terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(step.left));
    terms.push_back(contracted(left, right, kept_after(terms, plan.result)));
  }
  return in_label_order(summed(terms[0], set_of(plan.result)), plan.result);
}

// Every combination of all labels: adds the product of the operands to the result's element.
static Array einsum_reference(std::span<const Array> in, std::string_view operands,
                              std::string_view result) {
  std::string letters;
  Shape lengths;
  std::vector<std::string> terms(1);
  for (const char c : operands) {
    if (c == ',') {
      terms.emplace_back();
    } else {
      terms.back().push_back(c);
    }
  }
  for (std::size_t i = 0; i < in.size(); ++i) {
    for (std::size_t axis = 0; axis < terms[i].size(); ++axis) {
      const std::size_t at = letters.find(terms[i][axis]);
      const std::int64_t length = in[i].shape()[static_cast<int>(axis)];
      if (at == std::string::npos) {
        letters.push_back(terms[i][axis]);
        lengths.push_back(length);
      } else if (lengths[static_cast<int>(at)] == 1) {
        lengths[static_cast<int>(at)] = length;
      }
    }
  }
  const auto place = [&](std::string_view term, const Shape& shape, const Dims& at) {
    Dims index = shape;
    for (int axis = 0; axis < shape.size(); ++axis) {
      const auto letter = static_cast<int>(letters.find(term[static_cast<std::size_t>(axis)]));
      index[axis] = shape[axis] == 1 ? 0 : at[letter];
    }
    return row_major(index, shape);
  };
  Shape shape;
  for (const char c : result) shape.push_back(lengths[static_cast<int>(letters.find(c))]);
  Array y = Array::zeros(shape, DType::kF64);
  each_index(lengths, [&](const Dims& at, std::int64_t) {
    double product = 1;
    for (std::size_t i = 0; i < in.size(); ++i) {
      product *= in[i].data<double>()[place(terms[i], in[i].shape(), at)];
    }
    y.data<double>()[place(result, shape, at)] += product;
  });
  return y;
}

// `equation` as given to einsum; `operands` and `result` are what it means without "...".
static OpSample einsum_sample(const char* equation, const char* operands, const char* result,
                              const std::vector<Shape>& shapes) {
  OpSample made{equation,
                {},
                [=](std::span<const Tensor> in) { return einsum(equation, in); },
                [=](std::span<const Array> in) { return einsum_reference(in, operands, result); }};
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    made.inputs.push_back(sample_values(shapes[i], 701 + i));
  }
  return made;
}

static std::vector<OpSample> einsum_samples() {
  return {einsum_sample("ij,jk->ik", "ij,jk", "ik", {{3, 5}, {5, 4}}),
          einsum_sample("ij, jk", "ij,jk", "ik", {{3, 5}, {5, 2}}),
          einsum_sample("bhid,bhjd->bhij", "bhid,bhjd", "bhij", {{2, 3, 4, 5}, {2, 3, 2, 5}}),
          einsum_sample("ij->ji", "ij", "ji", {{3, 4}}),
          einsum_sample("ji", "ji", "ij", {{3, 4}}),
          einsum_sample("ii->i", "ii", "i", {{4, 4}}),
          einsum_sample("ii", "ii", "", {{3, 3}}),
          einsum_sample("iij,jk->ik", "iij,jk", "ik", {{3, 3, 4}, {4, 2}}),
          einsum_sample("i,j->ij", "i,j", "ij", {{3}, {4}}),
          einsum_sample("ij,ij->", "ij,ij", "", {{3, 4}, {3, 4}}),
          einsum_sample("ij->", "ij", "", {{3, 4}}),
          einsum_sample("ijk,j->ik", "ijk,j", "ik", {{2, 3, 4}, {3}}),
          einsum_sample("...ij,...jk->...ik", "abij,bjk", "abik", {{2, 3, 2, 4}, {3, 4, 2}}),
          einsum_sample("...i,i->...", "abi,i", "ab", {{2, 3, 4}, {4}}),
          einsum_sample("...ii->...i", "aii", "ai", {{2, 3, 3}}),
          einsum_sample("ij,jk,kl->il", "ij,jk,kl", "il", {{2, 6}, {6, 3}, {3, 4}}),
          einsum_sample("ab,bc,cd,da->", "ab,bc,cd,da", "", {{2, 3}, {3, 4}, {4, 2}, {2, 2}}),
          einsum_sample("ij,ik,il->jkl", "ij,ik,il", "jkl", {{3, 2}, {3, 4}, {3, 2}}),
          einsum_sample("ij,jk -> ik", "ij,jk", "ik", {{3, 1}, {4, 2}}),
          einsum_sample("i,i->i", "i,i", "i", {{1}, {1}}),
          einsum_sample("ij,jk->ki", "ij,jk", "ki", {{0, 3}, {3, 2}})};
}
extern const OpDef einsum_op = {"einsum", einsum_samples};

}  // namespace weft
