#include "weft/train/recipe/recipe_aliases.h"

#include <vector>

#include <fmt/format.h>

#include "weft/base/nearest_name.h"
#include "weft/train/recipe/recipe.h"

namespace weft {
namespace {

constexpr std::string_view kStepsNote =
    "a run is measured in steps: epochs x training samples / run.global_batch";

constexpr RecipeAlias kAliases[] = {
    {"arch", "model.name", ""},
    {"architecture", "model.name", ""},
    {"augment", "data.transforms", ""},
    {"augmentation", "data.transforms", ""},
    {"batch", "run.global_batch", ""},
    {"batch_size", "run.global_batch", ""},
    {"block_size", "data.context", ""},
    {"bs", "run.global_batch", ""},
    {"checkpoint_interval", "checkpoint.every_steps", ""},
    {"clip", "optimizer.clip_norm", ""},
    {"clip_grad_norm", "optimizer.clip_norm", ""},
    {"context_length", "data.context", ""},
    {"csv", "data.path", ""},
    {"d_model", "model.embedding_width", ""},
    {"dataset", "data.name", ""},
    {"decay", "optimizer.weight_decay", ""},
    {"depth", "model.layers", ""},
    {"drop_columns", "data.columns_ignored", ""},
    {"dtype", "run.precision", ""},
    {"embed_dim", "model.embedding_width", ""},
    {"epoch", "run.steps", kStepsNote},
    {"epochs", "run.steps", kStepsNote},
    {"eps", "optimizer.epsilon", ""},
    {"eta", "optimizer.learning_rate", ""},
    {"exclude", "data.columns_ignored", ""},
    {"file", "data.path", ""},
    {"fp16", "run.precision", "run.precision = \"f16\""},
    {"gradient_clip", "optimizer.clip_norm", ""},
    {"gradient_clip_val", "optimizer.clip_norm", ""},
    {"grad_clip", "optimizer.clip_norm", ""},
    {"hidden", "model.hidden_units", ""},
    {"hidden_dim", "model.hidden_units", ""},
    {"hidden_size", "model.hidden_units", ""},
    {"ignore", "data.columns_ignored", ""},
    {"ignore_columns", "data.columns_ignored", ""},
    {"iterations", "run.steps", ""},
    {"iters", "run.steps", ""},
    {"label", "data.target", ""},
    {"learningrate", "optimizer.learning_rate", ""},
    {"lr", "optimizer.learning_rate", ""},
    {"lr_scheduler", "schedule.name", ""},
    {"max_epochs", "run.steps", kStepsNote},
    {"max_iters", "run.steps", ""},
    {"max_steps", "run.steps", ""},
    {"microbatch", "run.micro_batch", ""},
    {"mixed_precision", "run.precision", ""},
    {"mu", "optimizer.momentum", ""},
    {"n_embd", "model.embedding_width", ""},
    {"n_head", "model.heads", ""},
    {"n_layer", "model.layers", ""},
    {"num_epochs", "run.steps", kStepsNote},
    {"num_heads", "model.heads", ""},
    {"num_layers", "model.layers", ""},
    {"num_steps", "run.steps", ""},
    {"num_train_epochs", "run.steps", kStepsNote},
    {"opt", "optimizer.name", ""},
    {"per_device_train_batch_size", "run.global_batch", ""},
    {"random_seed", "run.seed", ""},
    {"save_steps", "checkpoint.every_steps", ""},
    {"sched", "schedule.name", ""},
    {"scheduler", "schedule.name", ""},
    {"seq_len", "data.context", ""},
    {"sequence_length", "data.context", ""},
    {"steps", "run.steps", ""},
    {"target_column", "data.target", ""},
    {"tokeniser", "data.tokenizer", ""},
    {"train_batch_size", "run.global_batch", ""},
    {"vocab_size", "data.vocabulary", ""},
    {"warmup", "schedule.warmup_steps", ""},
    {"wd", "optimizer.weight_decay", ""},
    {"width", "model.embedding_width", ""},
};

std::string_view last_word(std::string_view name) { return name.substr(name.rfind('.') + 1); }

// "batch-size", "batchSize" and "Batch Size" alike: "batch_size".
std::string in_lower_case(std::string_view name) {
  std::string out;
  bool lower_before = false;
  for (const char letter : name) {
    const bool upper = letter >= 'A' && letter <= 'Z';
    if (upper && lower_before) out += '_';
    out += upper ? static_cast<char>(letter + 32) : (letter == '-' || letter == ' ') ? '_' : letter;
    lower_before = letter >= 'a' && letter <= 'z';
  }
  return out;
}

// The key of another section that ends in the same word, or the nearest of all.
std::string_view nearest_key(std::string_view typed) {
  std::vector<std::string_view> names;
  for (const RecipeKey& key : recipe_keys()) names.push_back(key.name);
  for (const std::string_view known : names) {
    if (last_word(known) == last_word(typed)) return known;
  }
  return nearest_name(typed, names);
}

}  // namespace

std::optional<RecipeAlias> recipe_alias(std::string_view typed) {
  const std::string word = in_lower_case(last_word(typed));
  for (const RecipeAlias& alias : kAliases) {
    if (alias.name == word) return alias;
  }
  // What needs no alias but another way to join its words: "--learning-rate".
  for (const RecipeKey& key : recipe_keys()) {
    if (word != last_word(typed) && last_word(key.name) == word) {
      return RecipeAlias{last_word(key.name), key.name, ""};
    }
  }
  return std::nullopt;
}

std::string recipe_key_meant(std::string_view typed) {
  if (const std::optional<RecipeAlias> alias = recipe_alias(typed)) {
    const std::string note = alias->note.empty() ? "" : fmt::format(" ({})", alias->note);
    return fmt::format("did you mean \"{}\"?{}", alias->key, note);
  }
  const std::string_view nearest = nearest_key(typed);
  return nearest.empty() ? std::string() : fmt::format("did you mean \"{}\"?", nearest);
}

}  // namespace weft
