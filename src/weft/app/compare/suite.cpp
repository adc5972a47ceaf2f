#include "weft/app/compare/suite.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "weft/base/printable.h"
#include "weft/mix/mix_method.h"

namespace weft {
namespace {

struct SuiteSetting {
  std::string_view method;
  std::string_view setting;
};

// What a method needs beside its row.
constexpr std::array kNeededSettings = {
    // A convex loss, and bounds of its curvature.
    SuiteSetting{"dadao", "model.name=linear"},
    SuiteSetting{"dadao", "mix.plan=accelerated:mu=0.1:smoothness=150"},
    SuiteSetting{"dadao", "mix.local=gradient:l2=0.1"},
    SuiteSetting{"dadao", "local.steps=1"},
};

}  // namespace

Result<std::vector<Contender>> suite_contenders(std::string_view suite,
                                                const std::vector<std::string>& recipes) {
  if (suite != "field") {
    return invalid_argument(fmt::format("--suite: expected field, got '{}'", printable(suite)));
  }
  if (recipes.size() != 1) {
    return invalid_argument(
        fmt::format("--suite: expected one recipe, which all methods train, such as "
                    "recipes/fashion_mnist_lenet.toml, got {}",
                    recipes.size()));
  }
  std::vector<Contender> contenders;
  for (const MixMethodDef& method : mix_methods()) {
    Contender& added = contenders.emplace_back();
    added.name = method.name;
    added.recipe_path = recipes.front();
    added.settings = {"group.exchange=mix", fmt::format("mix.method={}", method.name)};
    for (const SuiteSetting& each : kNeededSettings) {
      if (each.method == method.name) added.settings.emplace_back(each.setting);
    }
  }
  return contenders;
}

}  // namespace weft
