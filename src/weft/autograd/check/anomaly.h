// AnomalyMode: finds the operation that made the first NaN or infinity. For debugging: each
// operation's inputs, output and gradients are read once more.
//
//   const AnomalyMode find;
//   backward(loss(model, batch));  // throws AnomalyError: "log" made ...
//
// Threads: watches the operations of its own thread. Nests; the innermost counts.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>

namespace weft {

// The text names the operation, whether its forward or its backward made the value, the shapes, the
// element and, with a set_call_site(), where the operation was called.
class AnomalyError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

enum class Anomalies : std::uint8_t {
  kNan,
  // Infinities that are computed from finite values: those that masked_fill() writes on purpose, or
  // that come from an operand, do not count.
  kNanAndInfinity,
};

class AnomalyMode {
 public:
  explicit AnomalyMode(Anomalies anomalies = Anomalies::kNanAndInfinity);
  ~AnomalyMode();
  AnomalyMode(const AnomalyMode&) = delete;
  AnomalyMode& operator=(const AnomalyMode&) = delete;

 private:
  std::optional<Anomalies> before_;
};

// The anomalies that this thread checks for, or nothing; for callers whose scopes are not those of
// C++.
std::optional<Anomalies> anomaly_mode();
void set_anomaly_mode(std::optional<Anomalies> anomalies);

// Sets a function that returns the position in the user's program, "train.py:12 in step". Errors
// then name where the operation was called; for bindings, which set it before there are threads.
void set_call_site(std::function<std::string()> site);

}  // namespace weft
