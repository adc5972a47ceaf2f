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
learning_rate = 0.06
momentum = 0.9

[schedule]
name = "cosine"
warmup_steps = 20

[run]
name = "demo"
steps = 300
global_batch = 256
seed = 1

[group]
heartbeat_interval_ms = 250
suspicion_timeout_ms = 2000
lone_survivor = true
)TOML";

}  // namespace weft
