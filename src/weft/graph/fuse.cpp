// Elementwise nodes over one shape that feed each other or share an operand become chains.
//
// A chain runs where its last node stood, so its earlier nodes move down. That is allowed while no
// node in between reads what they write or writes what they touch; the first that does closes the
// chain. Nodes that write a buffer which another node of the chain touches must see it in the same
// view: a block is then written by the one just before the other reads it.
#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "weft/graph/chain.h"
#include "weft/graph/program.h"

namespace weft::internal {
namespace {

struct Group {
  std::vector<std::size_t> nodes;  // in recorded order
  bool open = true;
};

bool touches(const std::vector<Operand>& operands, const Operand& place) {
  return std::any_of(operands.begin(), operands.end(),
                     [&](const Operand& operand) { return operand.overlaps(place); });
}

class Fuser {
 public:
  explicit Fuser(Program& program) : program_(program) {}

  int run() {
    for (std::size_t i = 0; i < program_.nodes.size(); ++i) visit(i);
    return rebuild();
  }

 private:
  GraphNode& node(std::size_t index) { return program_.nodes[index]; }

  // Whether `later` must not run before a node of the group.
  bool conflicts(const Group& group, const GraphNode& later) {
    for (const std::size_t member : group.nodes) {
      const Operand& written = node(member).out[0];
      if (touches(later.in, written) || touches(later.out, written)) return true;
      for (const Operand& operand : node(member).in) {
        if (touches(later.out, operand)) return true;
      }
    }
    return false;
  }

  bool related(const Group& group, const GraphNode& later) {
    for (const std::size_t member : group.nodes) {
      if (touches(later.in, node(member).out[0])) return true;
      for (const Operand& operand : later.in) {
        if (operand.array.size() > 1 && touches(node(member).in, operand)) return true;
      }
    }
    return false;
  }

  static bool has_buffers(const GraphNode& candidate) {
    return candidate.out[0].buffer != kNoBuffer &&
           std::all_of(candidate.in.begin(), candidate.in.end(),
                       [](const Operand& operand) { return operand.buffer != kNoBuffer; });
  }

  // The rule of equal views, for all nodes of a chain to be.
  bool views_agree(const std::vector<std::size_t>& members) {
    for (const std::size_t writer : members) {
      const Operand& out = node(writer).out[0];
      for (const std::size_t other : members) {
        for (const std::vector<Operand>* const side : {&node(other).in, &node(other).out}) {
          for (const Operand& operand : *side) {
            if (operand.overlaps(out) && !same_view(operand.array, out.array)) return false;
          }
        }
      }
    }
    return true;
  }

  bool fits(const std::vector<std::size_t>& members) {
    std::size_t operands = 0;
    for (const std::size_t member : members) operands += node(member).in.size();
    return members.size() <= std::size_t{kChainStepsMax} &&
           operands <= std::size_t{kChainInputsMax};
  }

  void visit(std::size_t index) {
    GraphNode& later = node(index);
    const bool elementwise = later.loop.has_value() && later.out.size() == 1 &&
                             later.out[0].array.is_contiguous() && has_buffers(later);
    std::vector<std::size_t> members;
    std::vector<std::size_t> joined;
    for (std::size_t g = 0; elementwise && g < groups_.size(); ++g) {
      const Group& group = groups_[g];
      if (!group.open || node(group.nodes[0]).out[0].array.shape() != later.out[0].array.shape() ||
          !related(group, later)) {
        continue;
      }
      std::vector<std::size_t> trial = members;
      trial.insert(trial.end(), group.nodes.begin(), group.nodes.end());
      std::sort(trial.begin(), trial.end());
      std::vector<std::size_t> with_later = trial;
      with_later.push_back(index);
      if (!fits(with_later) || !views_agree(with_later)) continue;
      members = std::move(trial);
      joined.push_back(g);
    }
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const bool is_joined = std::find(joined.begin(), joined.end(), g) != joined.end();
      if (groups_[g].open && (is_joined || conflicts(groups_[g], later))) {
        groups_[g].open = false;
        if (is_joined) groups_[g].nodes.clear();
      }
    }
    if (!elementwise) return;
    members.push_back(index);
    groups_.push_back({std::move(members), true});
  }

  int rebuild() {
    std::vector<const Group*> group_of(program_.nodes.size(), nullptr);
    for (const Group& group : groups_) {
      if (group.nodes.size() < 2) continue;
      for (const std::size_t member : group.nodes) group_of[member] = &group;
    }
    std::vector<GraphNode> rebuilt;
    int fused = 0;
    for (std::size_t i = 0; i < program_.nodes.size(); ++i) {
      const Group* const group = group_of[i];
      if (group == nullptr) {
        rebuilt.push_back(std::move(program_.nodes[i]));
      } else if (group->nodes.back() == i) {
        rebuilt.push_back(make_node(group->nodes));
        fused += static_cast<int>(group->nodes.size());
      }
    }
    program_.nodes = std::move(rebuilt);
    return fused;
  }

  // Whether a node outside of the chain reads or writes `buffer`.
  bool used_outside(int buffer, const std::vector<std::size_t>& members) {
    if (program_.outlives(buffer)) return true;
    if (users_.empty()) collect_users();
    for (const std::size_t user : users_[static_cast<std::size_t>(buffer)]) {
      if (!std::binary_search(members.begin(), members.end(), user)) return true;
    }
    return false;
  }

  void collect_users() {
    users_.resize(program_.buffers.size());
    for (std::size_t i = 0; i < program_.nodes.size(); ++i) {
      for (const std::vector<Operand>* const side : {&node(i).in, &node(i).out}) {
        for (const Operand& operand : *side) {
          if (operand.buffer == kNoBuffer) continue;
          auto& users = users_[static_cast<std::size_t>(operand.buffer)];
          if (users.empty() || users.back() != i) users.push_back(i);
        }
      }
    }
  }

  GraphNode make_node(const std::vector<std::size_t>& members);

  Program& program_;
  std::vector<Group> groups_;
  std::vector<std::vector<std::size_t>> users_;  // by buffer, in order
};

// The operands of a chain under construction.
class ChainBuilder {
 public:
  // Decides where the results of `buffer` go when the chain first writes it.
  ChainOperand target(const Operand& out, bool outside) {
    const auto known = places_.find({out.buffer, out.low});
    if (known != places_.end()) return known->second;
    ChainOperand place;
    if (outside) {
      place = {ChainOperand::Place::kOutput, static_cast<int>(outputs_.size())};
      outputs_.push_back(out);
    } else {
      place = {ChainOperand::Place::kSlot, slots_++};
    }
    places_[{out.buffer, out.low}] = place;
    return place;
  }

  ChainOperand source(const Operand& in) {
    const auto known = places_.find({in.buffer, in.low});
    if (known != places_.end()) return known->second;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i].buffer == in.buffer && same_view(inputs_[i].array, in.array)) {
        return {ChainOperand::Place::kInput, static_cast<int>(i)};
      }
    }
    inputs_.push_back(in);
    return {ChainOperand::Place::kInput, static_cast<int>(inputs_.size()) - 1};
  }

  void add(ChainStep step) { steps_.push_back(std::move(step)); }

  // The last step that reads each input, the first that writes each output.
  void finish(GraphNode& node) {
    for (int i = 0; i < static_cast<int>(inputs_.size()); ++i) {
      for (int o = 0; o < static_cast<int>(outputs_.size()); ++o) {
        if (may_share(i, o)) node.in_place.push_back({i, o});
      }
    }
    node.in = std::move(inputs_);
    node.out = std::move(outputs_);
    node.body = make_chain(std::move(steps_), slots_);
  }

 private:
  bool may_share(int input, int output) const {
    const Array& in = inputs_[static_cast<std::size_t>(input)].array;
    const Array& out = outputs_[static_cast<std::size_t>(output)].array;
    if (!in.is_contiguous() || in.shape() != out.shape() ||
        size_of(in.dtype()) != size_of(out.dtype())) {
      return false;
    }
    int last_read = -1;
    int first_write = std::numeric_limits<int>::max();
    for (int s = 0; s < static_cast<int>(steps_.size()); ++s) {
      const ChainStep& step = steps_[static_cast<std::size_t>(s)];
      for (const ChainOperand& operand : step.operands) {
        const bool is_it = operand.place == ChainOperand::Place::kInput && operand.index == input;
        if (is_it) last_read = s;
      }
      if (step.target.place == ChainOperand::Place::kOutput && step.target.index == output) {
        first_write = std::min(first_write, s);
      }
    }
    return last_read <= first_write;
  }

  std::map<std::pair<int, std::int64_t>, ChainOperand> places_;  // by buffer and first byte
  std::vector<Operand> inputs_;
  std::vector<Operand> outputs_;
  std::vector<ChainStep> steps_;
  int slots_ = 0;
};

// A chain belongs to all operations of its members, "exp+add", and counts as a call of the last.
void join_op(LaunchOp& all, const LaunchOp& next) {
  const bool named = !all.name.empty() && !next.name.empty();
  const std::string listed = "+" + all.name + "+";
  const bool is_new = listed.find("+" + next.name + "+") == std::string::npos;
  if (is_new) all.name += (named ? "+" : "") + next.name;
  if (next.pass != Pass::kNone) all.pass = next.pass;
  all.call = next.call;
}

GraphNode Fuser::make_node(const std::vector<std::size_t>& members) {
  GraphNode fused;
  fused.name = "fused(";
  fused.launches = 0;
  ChainBuilder builder;
  for (const std::size_t index : members) {
    GraphNode& member = node(index);
    ChainStep step{*member.loop, {}, {}};
    for (const Operand& operand : member.in) step.operands.push_back(builder.source(operand));
    const Operand& out = member.out[0];
    step.target = builder.target(out, used_outside(out.buffer, members));
    builder.add(std::move(step));
    fused.name += (fused.launches == 0 ? "" : " ") + member.name;
    fused.launches += member.launches;
    join_op(fused.op, member.op);
  }
  fused.name += ")";
  builder.finish(fused);
  return fused;
}

}  // namespace

int fuse(Program& program) { return Fuser(program).run(); }

}  // namespace weft::internal
