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
  // Infinities where they are made of finite values: what masked_fill() puts in on purpose, and
  // what is handed on from an operand, is none.
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

// What this thread looks for, nothing if none; for callers whose scopes are not those of C++.
std::optional<Anomalies> anomaly_mode();
void set_anomaly_mode(std::optional<Anomalies> anomalies);

// Says where in the user's program the thread stands, "train.py:12 in step". With one, errors tell
// where the operation was called; for bindings, which set it before there are threads.
void set_call_site(std::function<std::string()> site);

}  // namespace weft
