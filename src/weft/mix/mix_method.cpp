#include "weft/mix/mix_method.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "weft/base/nearest_name.h"

namespace weft {
namespace {

constexpr std::array kMethods = {
    MixMethodDef{.name = "ad_psgd",
                 .summary = "After each piece of work an average with one other, without rounds "
                            "(Lian et al. 2018).",
                 .plan = "pairwise"},
    MixMethodDef{.name = "afa_cd",
                 .summary = "Members return when they like, and several are one step (Yang et al. "
                            "2022, anarchic federated learning).",
                 .plan = "star",
                 .trigger = "buffer:size=10:staleness=0:by_steps=1"},
    MixMethodDef{.name = "afa_cs",
                 .summary = "The same with every member's latest return (Yang et al. 2022).",
                 .plan = "star",
                 .trigger = "buffer:size=10:staleness=0:by_steps=1",
                 .combine = "memory"},
    MixMethodDef{.name = "async_sgd",
                 .summary = "Each return is applied by itself (Xie et al. 2019, FedAsync, with "
                            "deltas).",
                 .plan = "star",
                 .trigger = "buffer:size=1"},
    MixMethodDef{.name = "backup_workers",
                 .summary = "A version is over when nine in ten have returned (Chen et al. 2016).",
                 .plan = "star",
                 .trigger = "round:part=0.9"},
    MixMethodDef{.name = "bristle",
                 .summary = "Neighbours' output layers count by how well they do on the "
                            "member's own samples (Verbraeken et al. 2021).",
                 .plan = "exponential",
                 .combine = "bristle",
                 .part = "outputs"},
    MixMethodDef{.name = "dadao",
                 .summary = "Gradients and accelerated gossip with clocks of their own, for convex "
                            "losses (Nabli and Oyallon 2023).",
                 .plan = "accelerated",
                 .local = "gradient"},
    MixMethodDef{.name = "dfedsam",
                 .summary = "Sharpness-aware steps, and a mix with neighbours (Shi et al. 2023).",
                 .plan = "ring",
                 .local = "sam"},
    MixMethodDef{.name = "dfedsam_mgs",
                 .summary = "The same with four mixes in a round (Shi et al. 2023).",
                 .plan = "ring",
                 .local = "sam",
                 .mixes = 4},
    MixMethodDef{.name = "diloco",
                 .summary = "Local steps and Nesterov's momentum, each member a replica (Douillard "
                            "et al. 2023).",
                 .plan = "complete",
                 .outer = "nesterov"},
    MixMethodDef{.name = "dimat",
                 .summary =
                     "Mixes with neighbours whose hidden units are matched first (Saadati et "
                     "al. 2024).",
                 .plan = "ring",
                 .combine = "match"},
    MixMethodDef{.name = "dpsgd",
                 .summary = "Local steps, and then a mix with neighbours (Lian et al. 2017, in the "
                            "order adapt, then combine).",
                 .plan = "ring"},
    MixMethodDef{.name = "fedadam",
                 .summary = "Adam at the server (Reddi et al. 2021).",
                 .plan = "star",
                 .outer = "adam"},
    MixMethodDef{.name = "fedamd",
                 .summary = "Half of a version's members measure gradients on many samples, by "
                            "which the others correct their steps (Wu et al. 2023).",
                 .plan = "star:fraction=0.5",
                 .combine = "anchors",
                 .local = "amd"},
    MixMethodDef{.name = "fedavg",
                 .summary = "Local steps of a share of all members, and the mean (McMahan et al. "
                            "2017).",
                 .plan = "star"},
    MixMethodDef{.name = "fedavgm",
                 .summary = "Momentum at the server (Hsu et al. 2019).",
                 .plan = "star",
                 .outer = "momentum"},
    MixMethodDef{.name = "fedbuff",
                 .summary = "Ten deltas at a time, from whatever versions (Nguyen et al. 2022).",
                 .plan = "star",
                 .trigger = "buffer"},
    MixMethodDef{.name = "fedcompass",
                 .summary = "Members take as many steps as let them come back together (Li et al. "
                            "2024).",
                 .plan = "star",
                 .trigger = "groups"},
    MixMethodDef{
        .name = "fedfix",
        .summary = "The members that have finished when a period is over (Fraboni et al. 2023).",
        .plan = "star",
        .trigger = "period"},
    MixMethodDef{.name = "fedprox",
                 .summary = "Local steps with a pull back to the given model (Li et al. 2020).",
                 .plan = "star",
                 .local = "prox"},
    MixMethodDef{.name = "foolsgold",
                 .summary = "FedAvg in which members that always pull in one direction are taken "
                            "for one person's (Fung et al. 2020).",
                 .plan = "star",
                 .combine = "foolsgold"},
    MixMethodDef{.name = "kardam",
                 .summary = "Each return is applied by itself, if it is like what others return "
                            "(Damaskinos et al. 2018).",
                 .plan = "star",
                 .trigger = "buffer:size=1:staleness=1",
                 .combine = "kardam"},
    MixMethodDef{.name = "local_sgd",
                 .summary = "Local steps and the mean, each member a replica (Stich 2019).",
                 .plan = "complete"},
    MixMethodDef{.name = "modest",
                 .summary = "Each version has members of its own, and no server (de Vos et al. "
                            "2023).",
                 .plan = "sampled",
                 .trigger = "round:part=0.8:timeout=300"},
    MixMethodDef{.name = "overlapped_diloco",
                 .summary = "DiLoCo whose exchange runs beside the next local steps (Keiblinger et "
                            "al. 2025, PCCL).",
                 .plan = "complete",
                 .trigger = "round:delay=1",
                 .outer = "plain:rate=0.7"},
    MixMethodDef{.name = "post_local_sgd",
                 .summary = "One local step in each of the first 50 versions, more afterwards (Lin "
                            "et al. 2020).",
                 .plan = "complete",
                 .trigger = "round:single_until=50"},
    MixMethodDef{.name = "single_merge",
                 .summary = "Seldom mixes in pairs; the mean of all at the end (Zhu et al. 2026).",
                 .plan = "pairs"},
    MixMethodDef{.name = "spsa_byte",
                 .summary = "Two losses and one byte for each member and step, which all replay "
                            "from the run's seed (E. Zelikman et al. 2023).",
                 .plan = "complete",
                 .outer = "plain:rate=0.002",
                 .local = "spsa"},
    MixMethodDef{
        .name = "stale_synchronous",
        .summary = "Asynchronous, but nobody is far ahead of the slowest (Ho et al. 2013).",
        .plan = "star",
        .trigger = "buffer:size=1:staleness=0:lead=4"},
    MixMethodDef{.name = "sybilwall",
                 .summary = "Mixes that take members who move alike for one person's, and members "
                            "tell their neighbours of others (Werthenbach and Pouwelse 2023).",
                 .plan = "ring",
                 .combine = "sybilwall"},
    MixMethodDef{.name = "variance_corrected",
                 .summary = "Mixes that keep the variance of each tensor (Tian et al. 2024).",
                 .plan = "exponential",
                 .combine = "variance"},
};

Result<const MixMethodDef*> find_method(std::string_view name) {
  const auto found = std::ranges::find(kMethods, name, &MixMethodDef::name);
  if (found != kMethods.end()) return &*found;
  std::vector<std::string_view> names;
  names.reserve(kMethods.size());
  for (const MixMethodDef& def : kMethods) names.push_back(def.name);
  return invalid_argument(fmt::format("mix.method: expected one of {}, got \"{}\"{}",
                                      fmt::join(names, ", "), name, did_you_mean(name, names)));
}

std::string_view text_or(const std::string& own, std::string_view row) {
  return own.empty() ? row : std::string_view(own);
}

Status refuse(std::string_view part, std::string_view what, const std::string& got) {
  return invalid_argument(fmt::format("mix.{}: expected {}, got \"{}\"", part, what, got));
}

// Numbers are steps of one model that all members have, and keep as long as all have all numbers.
Status check_replicas(const MixMethod& method) {
  const std::string with = " with mix.local = \"" + method.local.text() + "\", ";
  if (method.plan.text() != "complete") {
    return refuse("plan", "\"complete\"" + with + "whose members all hold one model",
                  method.plan.text());
  }
  if (method.trigger.text() != "round") {
    return refuse("trigger", "\"round\"" + with + "which goes on once all have come",
                  method.trigger.text());
  }
  if (method.combine.text() != "mean" && !method.combine.is_robust()) {
    return refuse("combine", "\"mean\" or a robust rule" + with + "whose members return no models",
                  method.combine.text());
  }
  if (method.mixes > 1) {
    return refuse("mixes", "1" + with + "whose members return no models",
                  std::to_string(method.mixes));
  }
  return {};
}

Status check_trigger(const MixMethod& method) {
  const MixStyle style = method.plan.style();
  if (style != MixStyle::kServer && !method.trigger.is_round()) {
    return refuse("trigger",
                  "\"round\" with mix.plan = \"" + method.plan.text() +
                      "\", whose members come with one version",
                  method.trigger.text());
  }
  if (method.trigger.delay() > 0 && (style != MixStyle::kNeighbours || method.mixes > 1)) {
    return refuse("trigger",
                  "no delay with mix.plan = \"" + method.plan.text() +
                      "\" or several mixes: neighbours alone work ahead, once a round",
                  method.trigger.text());
  }
  if (style == MixStyle::kSampled && !method.trigger.has_timeout()) {
    return refuse("trigger",
                  "a timeout, such as \"round:timeout=300\", with mix.plan = \"" +
                      method.plan.text() +
                      "\": members learn of a loss at different moments, and a combiner may wait "
                      "for one that nobody has given the version",
                  method.trigger.text());
  }
  return {};
}

Status check_part(const MixMethod& method, const std::string& part) {
  if (part != "all" && part != "outputs") return refuse("part", "\"all\" or \"outputs\"", part);
  const bool takes_part = method.plan.style() == MixStyle::kNeighbours &&
                          !method.local.gives_numbers() && !method.combine.needs_probe() &&
                          !method.combine.tells_histories();
  if (method.outputs_only && !takes_part) {
    return refuse(
        "part",
        "\"all\" with mix.plan = \"" + method.plan.text() + "\", mix.combine = \"" +
            method.combine.text() + "\" and mix.local = \"" + method.local.text() +
            "\": only neighbours who mix models, and compare no whole ones, can leave a part out",
        part);
  }
  if (method.combine.needs_judge() && !method.outputs_only) {
    return refuse("part",
                  "\"outputs\" with mix.combine = \"" + method.combine.text() +
                      "\", which judges output layers on top of one's own layers",
                  part);
  }
  return {};
}

Status check(const MixMethod& method) {
  const MixStyle style = method.plan.style();
  WEFT_TRY(check_trigger(method));
  if (style == MixStyle::kPairwise && method.combine.text() != "mean") {
    return refuse("combine",
                  "\"mean\" with mix.plan = \"" + method.plan.text() + "\", where two average",
                  method.combine.text());
  }
  const bool has_no_outer = style == MixStyle::kSampled || style == MixStyle::kPairwise;
  if (has_no_outer && !method.outer.is_plain()) {
    return refuse("outer",
                  "\"plain\" with mix.plan = \"" + method.plan.text() +
                      "\", where nobody keeps an outer step's memory",
                  method.outer.text());
  }
  if (style != MixStyle::kServer && method.combine.needs_server()) {
    return refuse("combine",
                  "another rule with mix.plan = \"" + method.plan.text() +
                      "\", where no server gives out versions",
                  method.combine.text());
  }
  if (style == MixStyle::kSampled && method.combine.remembers()) {
    return refuse("combine",
                  "no memory with mix.plan = \"" + method.plan.text() + "\", where nobody keeps it",
                  method.combine.text());
  }
  if (method.combine.needs_probe() && style != MixStyle::kNeighbours) {
    return refuse("combine",
                  "no \"match\" with mix.plan = \"" + method.plan.text() +
                      "\", where nobody combines its own model with neighbours'",
                  method.combine.text());
  }
  if (method.combine.tells_histories() && style != MixStyle::kNeighbours) {
    return refuse("combine",
                  "another rule with mix.plan = \"" + method.plan.text() +
                      "\", where no neighbours tell each other of others",
                  method.combine.text());
  }
  if (method.plan.takes_gradients() != method.local.gives_gradients()) {
    const bool needed = method.plan.takes_gradients();
    return refuse("local",
                  (needed ? "\"gradient\"" : "no gradient") +
                      (" with mix.plan = \"" + method.plan.text() + "\", ") +
                      (needed ? "which makes the step itself" : "which takes models"),
                  method.local.text());
  }
  if (method.local.has_beside() != method.combine.gives_beside()) {
    const bool needed = method.local.has_beside();
    return refuse(
        "combine",
        (needed ? "\"anchors\"" : "another rule") +
            (" with mix.local = \"" + method.local.text() + "\", ") +
            (needed ? "whose steps need the mean of the anchors" : "which has no anchors"),
        method.combine.text());
  }
  if (method.local.gives_numbers()) WEFT_TRY(check_replicas(method));
  if (style != MixStyle::kNeighbours && method.mixes > 1) {
    return invalid_argument(
        fmt::format("mix.mixes: expected 1 with mix.plan = \"{}\", where no neighbours mix, got {}",
                    method.plan.text(), method.mixes));
  }
  return {};
}

template <class T>
Result<T> in_part(Result<T> parsed, const char* part) {
  if (!parsed.ok()) return parsed.status().with_context(std::string("mix.") + part);
  return parsed;
}

}  // namespace

std::span<const MixMethodDef> mix_methods() { return kMethods; }

Result<MixMethod> MixMethod::parse(const MixMethodTexts& texts) {
  WEFT_TRY_ASSIGN(const MixMethodDef* const row, find_method(texts.method));
  WEFT_TRY_ASSIGN(MixPlan plan,
                  in_part(MixPlan::parse(text_or(texts.plan, row->plan), texts.seed), "plan"));
  WEFT_TRY_ASSIGN(MixTrigger trigger,
                  in_part(MixTrigger::parse(text_or(texts.trigger, row->trigger)), "trigger"));
  WEFT_TRY_ASSIGN(
      MixCombine combine,
      in_part(MixCombine::parse(text_or(texts.combine, row->combine), texts.liars), "combine"));
  WEFT_TRY_ASSIGN(MixOuter outer,
                  in_part(MixOuter::parse(text_or(texts.outer, row->outer)), "outer"));
  WEFT_TRY_ASSIGN(MixLocal local,
                  in_part(MixLocal::parse(text_or(texts.local, row->local), texts.seed), "local"));
  MixMethod method{std::move(plan),    std::move(trigger),
                   std::move(combine), std::move(outer),
                   std::move(local),   texts.mixes > 0 ? texts.mixes : row->mixes};
  const std::string part(text_or(texts.part, row->part));
  method.outputs_only = part == "outputs";
  WEFT_TRY(check(method));
  WEFT_TRY(check_part(method, part));
  return method;
}

}  // namespace weft
