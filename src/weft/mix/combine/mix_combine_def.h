// A file NAME_combine.cpp defines one of these: a rule of MixCombine.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "weft/base/option.h"
#include "weft/mix/combine/mix_combine.h"

namespace weft {

struct MixCombineDef {
  std::string_view name;
  // One sentence for help pages, with the source.
  std::string_view summary;
  std::span<const Option> options = {};
  // `liars`: how many it has to tolerate.
  std::unique_ptr<MixCombineState> (*make)(std::span<const double> options, int liars) = nullptr;
  // As MixCombine::needs_probe(). It also needs the combiner's own model, so that neighbours mix.
  bool needs_probe = false;
  // As MixCombine::needs_judge() and tells_histories(); neighbours mix.
  bool needs_judge = false;
  bool tells_histories = false;
  // It keeps something of what came before.
  bool remembers = false;
  // It takes deltas of members that a server has given a version.
  bool needs_server = false;
  // As MixCombine::gives_beside().
  bool gives_beside = false;
  // How many members it needs at least with so many liars; null: it does not count them.
  int (*least)(int liars) = nullptr;
};

}  // namespace weft
