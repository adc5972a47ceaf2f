#include "weft/nn/layer/sizes.h"

#include <stdexcept>
#include <string>

#include <fmt/format.h>

namespace weft {

namespace {

void require_pair(const char* layer, const char* name, const Pair& size, std::int64_t least) {
  if (size.height >= least && size.width >= least) return;
  const std::string got = size.height == size.width
                              ? std::to_string(size.height)
                              : fmt::format("{{{}, {}}}", size.height, size.width);
  throw std::invalid_argument(
      fmt::format("[{}] expected {} of at least {}, got {}", layer, name, least, got));
}

}  // namespace

void require_positive(const char* layer, std::initializer_list<LayerSize> sizes) {
  for (const LayerSize& size : sizes) require_pair(layer, size.name, size.value, 1);
}

void require_window(const char* layer, const WindowSizes& sizes) {
  require_pair(layer, "kernel", sizes.kernel, 1);
  require_pair(layer, "stride", sizes.stride, 1);
  require_pair(layer, "padding", sizes.padding, 0);
  require_pair(layer, "output_padding", sizes.output_padding, 0);
  require_pair(layer, "dilation", sizes.dilation, 1);
}

void require_groups(const char* layer, std::int64_t groups, std::int64_t inputs,
                    std::int64_t outputs) {
  require_positive(layer, {{"groups", groups}, {"inputs", inputs}, {"outputs", outputs}});
  if (inputs % groups == 0 && outputs % groups == 0) return;
  throw std::invalid_argument(
      fmt::format("[{}] expected channels that {} groups divide, got {} and {}", layer, groups,
                  inputs, outputs));
}

}  // namespace weft
