// AnomalyMode: finds the operation that made the first NaN or infinity. For debugging: each
// operation's inputs, output and gradients are read once more.
//
//   const AnomalyMode find;
//   backward(loss(model, batch));  // throws AnomalyError: "log" made ...
//
// Threads: watches the operations of its own thread. Nests; the innermost counts.
#pragma once

#include <cstdint>
#include <stdexcept>

namespace weft {

// The text names the operation, whether its forward or its backward made the value, the shapes and
// the element.
class AnomalyError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

enum class Anomalies : std::uint8_t {
  kNan,
  // A mask that is filled with -inf on purpose counts as an anomaly too.
  kNanAndInfinity,
};

class AnomalyMode {
 public:
  explicit AnomalyMode(Anomalies anomalies = Anomalies::kNanAndInfinity);
  ~AnomalyMode();
  AnomalyMode(const AnomalyMode&) = delete;
  AnomalyMode& operator=(const AnomalyMode&) = delete;

 private:
  bool was_on_;
  Anomalies before_;
};

}  // namespace weft
