// Losses, as weft.nn.functional shows them.
#include "core/autocast.h"
#include "core/define.h"
#include "core/module.h"
#include "weft/op/arithmetic.h"
#include "weft/op/loss.h"
#include "weft/op/shape.h"

namespace weft::python {
namespace {

namespace py = pybind11;

using OptionalTensor = std::optional<Tensor>;
using Release = py::call_guard<py::gil_scoped_release>;

Reduction reduction_of(const std::string& name) {
  if (name == "mean") return Reduction::kMean;
  if (name == "sum") return Reduction::kSum;
  if (name == "none") return Reduction::kNone;
  throw std::invalid_argument("expected the reduction mean, sum or none, got " + name);
}

// Weights are constants of a loss: its gradient does not reach them, as in PyTorch.
Array array_of_weight(const char* name, const OptionalTensor& weight) {
  if (!weight) return {};
  if (weight->requires_grad() && grad_enabled()) {
    throw std::invalid_argument(std::string("[loss] expected ") + name +
                                " that takes no gradient, got one that requires grad: multiply "
                                "the losses of reduction='none' by it, or give it detached");
  }
  return weight->array();
}

// Smoothed first, then weighed; the mean is over the rows, whatever their weights.
Tensor soft_cross_entropy_of(const Tensor& logits, const Tensor& target,
                             const OptionalTensor& weight, const std::string& reduction,
                             double label_smoothing) {
  const int axis = logits.ndim() > 1 ? 1 : 0;  // PyTorch's
  if (target.shape() != logits.shape() || logits.ndim() == 0) {
    throw std::invalid_argument("[cross_entropy] expected probabilities of shape " +
                                to_string(logits.shape()) + ", got " + to_string(target.shape()));
  }
  const std::int64_t classes = logits.shape()[axis];
  if (classes == 0) throw std::invalid_argument("[cross_entropy] expected classes, got none");
  if (weight && (weight->ndim() != 1 || weight->shape()[0] != classes)) {
    throw std::invalid_argument("[cross_entropy] expected a weight for each of " +
                                std::to_string(classes) + " classes, got shape " +
                                to_string(weight->shape()));
  }
  if (!(label_smoothing >= 0.0 && label_smoothing <= 1.0)) {
    throw std::invalid_argument("[cross_entropy] expected label_smoothing in [0, 1], got " +
                                std::to_string(label_smoothing));
  }
  Tensor shares = transpose(target, axis, -1);
  if (label_smoothing != 0.0) {
    shares = shares * (1.0 - label_smoothing) + label_smoothing / static_cast<double>(classes);
  }
  if (weight) shares = shares * *weight;
  const Tensor losses =
      soft_cross_entropy(transpose(widened(logits), axis, -1), shares, reduction_of(reduction));
  const bool moved = losses.ndim() > 1;
  return moved ? transpose(losses, axis, -1) : losses;
}

Tensor cross_entropy_of(const Tensor& logits, const Tensor& target, const OptionalTensor& weight,
                        std::int64_t ignore_index, const std::string& reduction,
                        double label_smoothing) {
  if (is_floating(target.dtype())) {
    return soft_cross_entropy_of(logits, target, weight, reduction, label_smoothing);
  }
  CrossEntropyOptions options;
  options.reduction = reduction_of(reduction);
  options.label_smoothing = label_smoothing;
  options.ignore_index = ignore_index;
  options.class_weights = array_of_weight("weight", weight);
  options.class_axis = logits.ndim() > 1 ? 1 : 0;  // PyTorch's
  return cross_entropy(widened(logits), target, options);
}

Tensor nll_of(const Tensor& input, const Tensor& target, const OptionalTensor& weight,
              std::int64_t ignore_index, const std::string& reduction) {
  NllOptions options;
  options.reduction = reduction_of(reduction);
  options.ignore_index = ignore_index;
  options.class_weights = array_of_weight("weight", weight);
  return nll_loss(widened(input), target, options);
}

void bind_of_classes(Definer& define) {
  define.function("cross_entropy", cross_entropy_of, py::arg("input"), py::arg("target"),
                  py::arg("weight") = py::none(), py::arg("ignore_index") = -100,
                  py::arg("reduction") = "mean", py::arg("label_smoothing") = 0.0, Release(),
                  "Of logits [N, C] or [N, C, ...] and whole numbers [N] or [N, ...], or "
                  "probabilities of the logits' shape.");
  define.function("nll_loss", nll_of, py::arg("input"), py::arg("target"),
                  py::arg("weight") = py::none(), py::arg("ignore_index") = -100,
                  py::arg("reduction") = "mean", Release(),
                  "cross_entropy() of logarithms of probabilities.");
  const auto binary = [&define](const char* name,
                                Tensor (*of)(const Tensor&, const Tensor&, const BceOptions&),
                                const char* text) {
    define.function(
        name,
        [of](const Tensor& input, const Tensor& target, const OptionalTensor& weight,
             const std::string& reduction, const OptionalTensor& pos_weight) {
          return of(input, target,
                    {reduction_of(reduction), array_of_weight("weight", weight),
                     array_of_weight("pos_weight", pos_weight)});
        },
        py::arg("input"), py::arg("target"), py::arg("weight") = py::none(),
        py::arg("reduction") = "mean", py::arg("pos_weight") = py::none(), Release(), text);
  };
  binary("binary_cross_entropy_with_logits", &bce_with_logits,
         "Of logits and targets in [0, 1]; stable for any logit.");
  binary("binary_cross_entropy", &bce_loss, "Of probabilities and targets in [0, 1].");
}

void bind_of_values(Definer& define) {
  const auto loss = [&define](const char* name,
                              Tensor (*of)(const Tensor&, const Tensor&, Reduction),
                              const char* text) {
    define.function(
        name,
        [of](const Tensor& input, const Tensor& target, const std::string& reduction) {
          return of(input, target, reduction_of(reduction));
        },
        py::arg("input"), py::arg("target"), py::arg("reduction") = "mean", Release(), text);
  };
  loss("mse_loss", &mse_loss, "(input - target)^2.");
  loss("l1_loss", &l1_loss, "|input - target|.");
  define.function(
      "kl_div",
      [](const Tensor& input, const Tensor& target, const std::string& reduction, bool log_target) {
        KlDivOptions options;
        options.batch_mean = reduction == "batchmean";
        options.reduction = options.batch_mean ? Reduction::kMean : reduction_of(reduction);
        options.log_target = log_target;
        return kl_div(input, target, options);
      },
      py::arg("input"), py::arg("target"), py::arg("reduction") = "mean",
      py::arg("log_target") = false, Release(), "target (log target - input).");
  define.function("cosine_similarity", &cosine_similarity, py::arg("x1"), py::arg("x2"),
                  py::arg("dim") = 1, py::arg("eps") = 1e-8, Release(),
                  "The cosine of the angle between vectors along `dim`.");
}

void bind_losses_of_distance(Definer& define) {
  const auto scaled = [&define](const char* name, const char* setting,
                                Tensor (*of)(const Tensor&, const Tensor&, double, Reduction),
                                const char* text) {
    define.function(
        name,
        [of](const Tensor& input, const Tensor& target, const std::string& reduction,
             double value) { return of(input, target, value, reduction_of(reduction)); },
        py::arg("input"), py::arg("target"), py::arg("reduction") = "mean", py::arg(setting) = 1.0,
        Release(), text);
  };
  scaled("_huber_loss", "delta", &huber_loss, "Squares near 0, linear behind delta.");
  scaled("_smooth_l1_loss", "beta", &smooth_l1_loss, "huber_loss() over beta.");
  define.function(
      "_ctc_loss",
      [](const Tensor& log_probabilities, const Tensor& targets, const Tensor& input_lengths,
         const Tensor& target_lengths, std::int64_t blank, const std::string& reduction,
         bool zero_infinity) {
        CtcOptions options;
        options.reduction = reduction_of(reduction);
        options.blank = blank;
        options.zero_infinity = zero_infinity;
        return ctc_loss(log_probabilities, targets, input_lengths, target_lengths, options);
      },
      py::arg("log_probs"), py::arg("targets"), py::arg("input_lengths"), py::arg("target_lengths"),
      py::arg("blank"), py::arg("reduction"), py::arg("zero_infinity"), Release());
}

}  // namespace

void bind_op_loss(py::module_& module) {
  Definer define(module);
  bind_of_classes(define);
  bind_of_values(define);
  bind_losses_of_distance(define);
}

}  // namespace weft::python
