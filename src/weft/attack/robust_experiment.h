// A small training by members of whom some lie: rule, attack and split of the data against the
// accuracy that the model reaches.
//
// Ten classes in 64 dimensions: normal noise around means of one length. The model is an MLP of
// 64-32-10. Honest members draw batches from their own part of the data and send their gradients'
// momentum; liars, who have no data of their own and see what the honest members send, send what
// their attack makes of it. The rule's result is a step of gradient descent. Everything is drawn by
// seed, and the same options give the same accuracy.
//
// For tests and bench/robust_grid.cpp. Threads: one run at a time. Fails: std::runtime_error for
// texts that name no rule or attack.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace weft {

struct RobustOptions {
  std::string rule = "mean";
  // An Attack's text; "label_flip": the mean gradient of the honest members' batches with label 9
  // for 0, 8 for 1 and so on. Empty: the liars are not there, and the others do not know this.
  std::string attack = {};
  int honest = 16;
  int liars = 4;
  // Each honest member has a part of all labels, or else of one or two.
  bool same_data = true;
  int batch = 16;
  int steps = 300;
  double learning_rate = 0.2;
  // Members send m = momentum m + (1 - momentum) gradient.
  double momentum = 0.9;
  std::uint64_t seed = 1;
};

// The share of right answers on data of the test; nothing where the rule needs more members.
std::optional<double> robust_accuracy(const RobustOptions& options);

}  // namespace weft
