// Random numbers: weft.Generator, manual_seed(), randn() and its like, and dropout's key.
#include "core/define.h"
#include "core/module.h"
#include "weft/op/in_place.h"
#include "weft/op/random.h"

namespace weft::python {

Generator& default_generator() {
  static Generator generator(0);
  return generator;
}

namespace {

namespace py = pybind11;

using OptionalGenerator = std::optional<std::reference_wrapper<Generator>>;

Generator& chosen_generator(const OptionalGenerator& generator) {
  return generator ? generator->get() : default_generator();
}

Dims size_of_arguments(const py::args& sizes) {
  const bool one = sizes.size() == 1 && PyLong_Check(sizes[0].ptr()) == 0;
  py::detail::make_caster<Dims> caster;
  if (!caster.load(one ? py::handle(sizes[0]) : py::handle(sizes), false)) {
    throw TypeProblem("expected sizes as whole numbers, got " +
                      std::string(py::str(py::object(sizes))));
  }
  return py::detail::cast_op<Dims>(caster);
}

// A seed has 64 bits; negative ones count down from 2^64, as in PyTorch.
std::uint64_t seed_of(const py::object& seed) {
  const auto whole = py::reinterpret_steal<py::object>(PyNumber_Index(seed.ptr()));
  if (!whole) throw py::error_already_set();
  int overflow = 0;
  const long long small = PyLong_AsLongLongAndOverflow(whole.ptr(), &overflow);
  if (overflow == 0) return static_cast<std::uint64_t>(small);
  const unsigned long long large = PyLong_AsUnsignedLongLong(whole.ptr());
  if (PyErr_Occurred() != nullptr) throw py::error_already_set();
  return large;
}

// Generator(seed), and PyTorch's Generator(device), where only the CPU will do.
Generator made_generator(const py::object& seed, const py::object& device) {
  const py::module_ devices = py::module_::import("weft._device");
  if (!device.is_none()) devices.attr("cpu_device")(device);
  if (py::isinstance<py::str>(seed) || py::isinstance(seed, devices.attr("device"))) {
    devices.attr("cpu_device")(seed);
    return Generator(0);
  }
  if (PyIndex_Check(seed.ptr()) == 0) {
    throw TypeProblem(std::string("Generator() expects a seed as a whole number, or the device "
                                  "'cpu', got ") +
                      Py_TYPE(seed.ptr())->tp_name);
  }
  return Generator(seed_of(seed));
}

void bind_generator(py::module_& module) {
  py::class_<Generator>(module, "Generator",
                        "A stream of random numbers; its state is (seed, offset).")
      .def(py::init(&made_generator), py::arg("seed") = 0, py::arg("device") = py::none())
      .def(
          "manual_seed",
          [](Generator& self, const py::object& seed) -> Generator& {
            self.set(seed_of(seed));
            return self;
          },
          py::arg("seed"), py::return_value_policy::reference_internal, "Starts over.")
      .def("initial_seed", &Generator::seed, "The seed.")
      .def(
          "get_state",
          [](const Generator& self) { return py::make_tuple(self.seed(), self.offset()); },
          "(seed, offset), for set_state().")
      .def(
          "set_state",
          [](Generator& self, const std::pair<std::uint64_t, std::uint64_t>& state) {
            self.set(state.first, state.second);
          },
          py::arg("state"), "Goes on where get_state() was called.");
  module.attr("default_generator") =
      py::cast(&default_generator(), py::return_value_policy::reference);
  module.def(
      "manual_seed",
      [](const py::object& seed) -> Generator& {
        default_generator().set(seed_of(seed));
        return default_generator();
      },
      py::arg("seed"), py::return_value_policy::reference,
      "Starts the default generator over; returns it.");
  module.def(
      "initial_seed", [] { return default_generator().seed(); },
      "The seed of the default generator.");
}

using Fill = Tensor (*)(const Shape&, Generator&, DType);

void bind_sized_draws(py::module_& module) {
  const auto sized = [&module](const char* name, Fill fill, const char* text) {
    module.def(
        name,
        [fill](const py::args& size, const OptionalGenerator& generator, std::optional<DType> dtype,
               bool requires_grad) {
          const Tensor made = fill(size_of_arguments(size), chosen_generator(generator),
                                   dtype.value_or(default_dtype()));
          return Tensor(made.array(), requires_grad);
        },
        py::kw_only(), py::arg("generator") = py::none(), py::arg("dtype") = py::none(),
        py::arg("requires_grad") = false, text);
  };
  sized("randn", &randn, "randn(*size): standard normal values.");
  sized("rand", &rand, "rand(*size): values in [0, 1).");
  module.def(
      "randint",
      [](std::int64_t low, const py::object& high, const py::object& size,
         const OptionalGenerator& generator, std::optional<DType> dtype) {
        // randint(high, size) and randint(low, high, size).
        const bool two = size.is_none();
        const auto shape = py::cast<Dims>(two ? high : size);
        return randint(two ? 0 : low, two ? low : py::cast<std::int64_t>(high), shape,
                       chosen_generator(generator), dtype.value_or(DType::kI64));
      },
      py::arg("low"), py::arg("high"), py::arg("size") = py::none(), py::kw_only(),
      py::arg("generator") = py::none(), py::arg("dtype") = py::none(),
      "randint(high, size) or randint(low, high, size): whole numbers in [low, high).");
  module.def(
      "randperm",
      [](std::int64_t n, const OptionalGenerator& generator) {
        return randperm(n, chosen_generator(generator));
      },
      py::arg("n"), py::kw_only(), py::arg("generator") = py::none(),
      "int64: 0 .. n - 1 in random order.");
  module.def(
      "multinomial",
      [](const Tensor& weights, std::int64_t count, bool replacement,
         const OptionalGenerator& generator) {
        if (count < 1) {
          throw std::invalid_argument("[multinomial] expected num_samples of at least 1, got " +
                                      std::to_string(count));
        }
        if (weights.ndim() != 1 && weights.ndim() != 2) {
          throw std::invalid_argument("[multinomial] expected weights of 1 or 2 axes, got " +
                                      to_string(weights.shape()));
        }
        if (!replacement && count > 1) {
          throw std::invalid_argument("[multinomial] expected replacement=True for several draws");
        }
        return categorical(weights, count, chosen_generator(generator));
      },
      py::arg("input"), py::arg("num_samples"), py::arg("replacement") = false, py::kw_only(),
      py::arg("generator") = py::none(), "int64: places drawn in proportion to their weights.");
  module.def(
      "bernoulli",
      [](const Tensor& p, const OptionalGenerator& generator) {
        return bernoulli(p, chosen_generator(generator));
      },
      py::arg("input"), py::kw_only(), py::arg("generator") = py::none(),
      "1 with the probability at each place, else 0.");
}

py::object draw_in_place(const py::object& self, const Tensor& values) {
  copy_(required_tensor(self), values);
  return self;
}

}  // namespace

void bind_random(py::module_& module) {
  bind_generator(module);
  bind_sized_draws(module);
  Definer define(module);
  define.method(
      "uniform_",
      [](const py::object& self, double low, double high, const OptionalGenerator& generator) {
        const Tensor& x = required_tensor(self);
        return draw_in_place(self,
                             uniform(x.shape(), low, high, chosen_generator(generator), x.dtype()));
      },
      py::arg("from") = 0.0, py::arg("to") = 1.0, py::kw_only(), py::arg("generator") = py::none(),
      "Fills with values between two.");
  define.method(
      "normal_",
      [](const py::object& self, double mean, double std, const OptionalGenerator& generator) {
        const Tensor& x = required_tensor(self);
        return draw_in_place(self,
                             normal(x.shape(), mean, std, chosen_generator(generator), x.dtype()));
      },
      py::arg("mean") = 0.0, py::arg("std") = 1.0, py::kw_only(), py::arg("generator") = py::none(),
      "Fills with normal values.");
}

}  // namespace weft::python
