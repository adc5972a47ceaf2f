// The recipe of `weft demo`: compiled in, so that the program alone is enough.
#pragma once

namespace weft {

inline constexpr const char* kDemoRecipe =
    R"TOML(# The demo: a CNN with 1.2 million parameters on Fashion-MNIST.
[model]
name = "cnn"

[data]
name = "fashion-mnist"

[optimizer]
name = "sgd"
learning_rate = 0.08
momentum = 0.9

[schedule]
name = "cosine"
warmup_steps = 30

[run]
name = "demo"
steps = 500
global_batch = 128
seed = 1

[group]
heartbeat_interval_ms = 250
suspicion_timeout_ms = 2000
result_log_bytes = 100_000_000
lone_survivor = true
)TOML";

}  // namespace weft
