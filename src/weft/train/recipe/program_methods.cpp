#include "weft/train/recipe/program_methods.h"

namespace weft {
namespace {

constexpr Option kDiffusionOptions[] = {
    {.name = "batch",
     .fallback = 128,
     .min = 1,
     .max = 65536,
     .whole = true,
     .help = "Pictures of a step."},
    {.name = "steps",
     .fallback = 100,
     .min = 1,
     .max = 1e6,
     .whole = true,
     .help = "Steps of each expert, and of the router, between two measurements."},
    {.name = "top_k",
     .fallback = 2,
     .min = 0,
     .max = 64,
     .whole = true,
     .help = "Experts that count for a picture, the most likely ones; 0: all."}};

constexpr Option kFedLgdOptions[] = {
    {.name = "contrast",
     .fallback = 0.1,
     .min = 0,
     .max = 1000,
     .help = "Weight of the contrastive term between own and shared samples."},
    {.name = "domains",
     .fallback = 1,
     .min = 1,
     .max = 4,
     .whole = true,
     .help = "1: all members have the same kind of pictures; more: members, and as many test sets, "
             "see them by so many cameras in turn."},
    {.name = "samples",
     .fallback = 2000,
     .min = 10,
     .max = 60000,
     .whole = true,
     .help = "Samples of a member, of which it distils ten a class."}};

constexpr ProgramMethodDef kProgramMethods[] = {
    {"decentralised_diffusion",
     "Experts for parts of the data that exchange nothing, and a router (McAllister et al. 2025).",
     kDiffusionOptions, "bindings/python/examples/diffusion_experts.py"},
    {"fedlgd",
     "Members train on synthetic samples of their own and of all (Huang et al. 2025, FedLGD).",
     kFedLgdOptions, "bindings/python/examples/federated_distillation.py"}};

}  // namespace

std::span<const ProgramMethodDef> program_methods() { return kProgramMethods; }

}  // namespace weft
