// run_plan: what a comparison is going to run: each contender with each seed, its recipe and key.
//
// The key is the SHA-256 of everything that a result depends on: version of the format and of Weft,
// the whole recipe with its seed, and the options of the simulation. Equal keys have equal results
// (sim/world.h), so a result is kept and found by it. Data files are not part of it.
//
// Where it stands: compare_command.cpp -> here. Threads: pure functions.
// Fails: never by itself; `Recipe` comes from the caller.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/app/compare/figures.h"
#include "weft/train/recipe/recipe.h"

namespace weft {

// Hexadecimal. `options`: of the simulation, in a fixed order.
std::string run_key(const Recipe& recipe, const std::vector<NamedText>& options);

// Makes sure that `recipe` measures the test set at the end and about `evaluations` times during
// the run, unless it says how often itself. Returns what it has changed, as a sentence for people;
// "" for nothing. A recipe that cannot be measured during its run is measured at the end only.
std::string add_evaluations(Recipe& recipe, std::int64_t evaluations);

// Every key with its value, but for run.seed.
std::vector<NamedText> recipe_texts(const Recipe& recipe);

// Samples that the whole run trains on: what the time that it takes is estimated from.
double planned_samples(const Recipe& recipe);

}  // namespace weft
