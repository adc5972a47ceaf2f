// Gradients: no_grad, weft.autograd.grad, and operations written in Python.
#include <set>
#include <span>
#include <string>
#include <utility>

#include "core/autocast.h"
#include "core/define.h"
#include "core/module.h"
#include "weft/autograd/backward.h"
#include "weft/autograd/check/anomaly.h"
#include "weft/autograd/function/checkpoint.h"
#include "weft/autograd/function/custom_function.h"
#include "weft/autograd/leaf_watch.h"
#include "weft/kernel/random/random.h"

namespace weft::python {
namespace {

namespace py = pybind11;

using OptionalTensor = std::optional<Tensor>;
using TensorList = std::vector<Tensor>;

// Histories name their operations by literals; the few names of a program's functions live on.
const char* lasting(const std::string& name) {
  static auto& names = *new std::set<std::string>();
  return names.insert(name).first->c_str();
}

// Within a `with`: history on or off. Nested ones are left in the opposite order.
class GradMode {
 public:
  explicit GradMode(bool on) : on_(on) {}
  void enter() {
    if (on_) {
      enabled_.emplace();
    } else {
      disabled_.emplace();
    }
  }
  void leave() {
    enabled_.reset();
    disabled_.reset();
  }

 private:
  bool on_;
  std::optional<EnableGrad> enabled_;
  std::optional<NoGrad> disabled_;
};

// The gradients that `backward` of a Python function gives, None as undefined ones; `arrived` is
// what it gets of the outputs' gradients.
TensorList gradients_by(const std::shared_ptr<PyObject>& backward, const FunctionContext& context,
                        std::size_t saved_count, const py::object& arrived) {
  py::list saved;
  for (std::size_t i = 0; i < saved_count; ++i) saved.append(context.saved(i));
  const py::list given = py::handle(backward.get())(py::tuple(saved), arrived);
  TensorList gradients;
  for (const py::handle gradient : given) {
    gradients.push_back(gradient.is_none() ? Tensor() : required_tensor(gradient));
  }
  return gradients;
}

// What both kinds of functions need.
struct AppliedFunction {
  AppliedFunction(const TensorList& inputs, const std::vector<OptionalTensor>& saved,
                  const py::function& backward)
      : context(std::make_shared<FunctionContext>()), kept(keep(backward.ptr())) {
    for (const OptionalTensor& tensor : saved) context->save(tensor.value_or(Tensor()));
    for (const Tensor& input : inputs) pointers.push_back(&input);
  }
  std::shared_ptr<FunctionContext> context;
  std::shared_ptr<PyObject> kept;
  std::vector<const Tensor*> pointers;
};

// `output`, computed without history from `inputs`, with a history that calls backward(saved, dy).
Tensor apply_function(const std::string& name, const Tensor& output, const TensorList& inputs,
                      const std::vector<OptionalTensor>& saved, const py::function& backward) {
  const AppliedFunction applied(inputs, saved, backward);
  return apply_context(
      lasting(name), applied.context, output, applied.pointers,
      [kept = applied.kept, count = saved.size()](const FunctionContext& now, const Tensor& dy) {
        const py::gil_scoped_acquire acquired;
        return gradients_by(kept, now, count, py::cast(dy));
      });
}

// The same for several outputs: backward(saved, [dy, ...]), None where an output got no gradient.
TensorList apply_functions(const std::string& name, const TensorList& outputs,
                           const TensorList& inputs, const std::vector<OptionalTensor>& saved,
                           const py::function& backward) {
  const AppliedFunction applied(inputs, saved, backward);
  return apply_context_many(
      lasting(name), applied.context, outputs, applied.pointers,
      [kept = applied.kept, count = saved.size()](const FunctionContext& now,
                                                  std::span<const Tensor> dys) {
        const py::gil_scoped_acquire acquired;
        py::list arrived;
        for (const Tensor& dy : dys) {
          arrived.append(dy.defined() ? py::cast(dy) : py::object(py::none()));
        }
        return gradients_by(kept, now, count, arrived);
      });
}

py::tuple gradients_of(const TensorList& outputs, const TensorList& inputs,
                       const std::optional<std::vector<OptionalTensor>>& grad_outputs,
                       bool retain_graph, bool create_graph, bool allow_unused) {
  GradOptions options;
  options.keep_graph = retain_graph;
  options.create_graph = create_graph;
  options.allow_unused = allow_unused;
  if (grad_outputs) {
    for (const OptionalTensor& seed : *grad_outputs) {
      options.grad_outputs.push_back(seed.value_or(Tensor()));
    }
  }
  TensorList gradients;
  {
    const py::gil_scoped_release released;
    gradients = grad(outputs, inputs, options);
  }
  return py::tuple(py::cast(gradients));
}

// 0: nothing; 1: NaN; 2: infinities too.
int anomaly_level() {
  const std::optional<Anomalies> mode = anomaly_mode();
  return mode ? (*mode == Anomalies::kNan ? 1 : 2) : 0;
}

void set_anomaly_level(int level) {
  if (level == 0) return set_anomaly_mode(std::nullopt);
  set_anomaly_mode(level == 1 ? Anomalies::kNan : Anomalies::kNanAndInfinity);
}

void set_site(const py::function& site) {
  set_call_site([kept = keep(site.ptr())] {
    const py::gil_scoped_acquire acquired;
    return py::cast<std::string>(py::handle(kept.get())());
  });
}

using RandomState = std::pair<std::uint64_t, std::uint64_t>;  // seed, offset

RandomState random_state() { return {default_generator().seed(), default_generator().offset()}; }

// While this lives the default generator is where it was at `begin`; what comes after goes on from
// where it was before.
class Replay {
 public:
  explicit Replay(RandomState begin) : before_(random_state()) {
    default_generator().set(begin.first, begin.second);
  }
  ~Replay() { default_generator().set(before_.first, before_.second); }
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

 private:
  RandomState before_;
};

Tensor run_checkpoint(const py::function& function, const TensorList& inputs) {
  const std::shared_ptr<PyObject> kept = keep(function.ptr());
  const auto first = std::make_shared<bool>(true);
  return checkpoint(
      [kept, first, begin = random_state()](std::span<const Tensor> now) {
        const py::gil_scoped_acquire acquired;
        std::optional<Replay> replay;
        // The second pass draws what the first one drew.
        if (!std::exchange(*first, false)) replay.emplace(begin);
        py::list arguments;
        for (const Tensor& tensor : now) arguments.append(tensor);
        return py::cast<Tensor>(py::handle(kept.get())(*py::tuple(arguments)));
      },
      inputs);
}

}  // namespace

void bind_autograd(py::module_& module) {
  py::class_<GradMode>(module, "_GradMode")
      .def(py::init<bool>(), py::arg("on"))
      .def("enter", &GradMode::enter)
      .def("leave", &GradMode::leave);
  module.def("is_grad_enabled", &grad_enabled,
             "Whether operations of this thread record a history.");
  module.def("_apply_function", apply_function, py::arg("name"), py::arg("output"),
             py::arg("inputs"), py::arg("saved"), py::arg("backward"));
  module.def("_apply_functions", apply_functions, py::arg("name"), py::arg("outputs"),
             py::arg("inputs"), py::arg("saved"), py::arg("backward"));
  module.def("_grad", gradients_of, py::arg("outputs"), py::arg("inputs"),
             py::arg("grad_outputs") = py::none(), py::arg("retain_graph") = false,
             py::arg("create_graph") = false, py::arg("allow_unused") = false);
  module.def(
      "_depends_on_others",
      [](const TensorList& outputs, const TensorList& inputs) {
        return depends_on_others(outputs, inputs);
      },
      py::arg("outputs"), py::arg("inputs"));
  module.def("_autocast_type", autocast_type);
  module.def("_set_autocast_type", set_autocast_type, py::arg("dtype"));
  module.def("_anomaly_level", anomaly_level);
  module.def("_set_anomaly_level", set_anomaly_level, py::arg("level"));
  module.def("_set_call_site", set_site, py::arg("site"));
  module.def("_checkpoint", run_checkpoint, py::arg("function"), py::arg("inputs"));
}

}  // namespace weft::python
