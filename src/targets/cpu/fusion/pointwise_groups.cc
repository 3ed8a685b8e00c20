// Pointwise nodes that feed each other become one program of the pointwise kernel: elements are
// loaded once, go through all of them in registers, and what only the group reads is never written.
//
//   %a = mul(%x, 2)          one step: load x and y, multiply, add, tanh, store
//   %b = add(%a, %y)
//   %c = tanh(%b)
//
// The graph stays as it is: a group is a list of nodes, found when a graph has got its final form,
// and lowered at the place of its last node, its root. Walking backwards, a node joins that one of
// its readers' groups whose root comes first, or none: so every group runs after all that it reads,
// and what others read of it is stored by then. All results have the same sizes; a node that is
// broadcast into the group would be computed once for every element, and stays outside. No node is
// in two groups, so nothing is computed twice.
//
// A group computes what its nodes would one by one. Registers are wider than some dtypes: integers
// that would wrap around in memory end a group, bools are made 0 or 1 again, and 16-bit floats come
// about by conversions only, which round.
#include "targets/cpu/fusion/pointwise_groups.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "targets/cpu/fusion/fusion.h"
#include "targets/cpu/lowering/pointwise_group.h"

namespace unfuse::cpu {
namespace {

/// Registers of a tile should stay in the first cache.
constexpr std::size_t kMostNodes = 32;

class Grouping {
 public:
  Grouping(std::span<const Node* const> nodes, const std::unordered_set<const Value*>& kept)
      : nodes_(nodes), kept_(kept), group_of_(nodes.size(), -1) {
    for (std::size_t i = 0; i < nodes.size(); ++i) position_[nodes[i]] = i;
  }

  std::vector<NodeGroup> apply() {
    const bool fuses = !is_fusion_skipped("fuse_pointwise");
    for (std::size_t i = nodes_.size(); i-- > 0;) {
      const bool groups = fuses && can_be_grouped(*nodes_[i]);
      if (!groups || !join_readers(i)) start_group(i);
    }
    return take_groups();
  }

 private:
  /// Positions, last to first; the first is the root.
  using Members = std::vector<std::size_t>;

  void start_group(std::size_t position) {
    group_of_[position] = static_cast<int>(groups_.size());
    groups_.push_back({position});
  }

  /// Where a reader stands; nothing for one that is not among the nodes.
  std::optional<std::size_t> position_of(const Node* reader) const {
    const auto found = position_.find(reader);
    if (found == position_.end()) return std::nullopt;
    return found->second;
  }

  bool join_readers(std::size_t position) {
    const Node& node = *nodes_[position];
    const int group = earliest_group_of_readers(node);
    if (group < 0) return false;
    Members& members = groups_[static_cast<std::size_t>(group)];
    const Node& root = *nodes_[members.front()];
    if (members.size() == kMostNodes || !can_be_grouped(root) || !can_be_inlined(node) ||
        root.result()->sizes() != node.result()->sizes()) {
      return false;
    }
    members.push_back(position);
    group_of_[position] = group;
    return true;
  }

  /// Of the groups that read the node's result, the one that runs first; -1 when none does.
  int earliest_group_of_readers(const Node& node) const {
    int earliest = -1;
    std::size_t earliest_root = nodes_.size();
    for (const Use& use : node.result()->uses()) {
      const auto reader = position_of(use.node);
      if (!reader) continue;
      const int group = group_of_[*reader];
      const std::size_t root = groups_[static_cast<std::size_t>(group)].front();
      if (root >= earliest_root) continue;
      earliest = group;
      earliest_root = root;
    }
    return earliest;
  }

  std::vector<NodeGroup> take_groups() {
    std::sort(groups_.begin(), groups_.end(),
              [](const Members& left, const Members& right) { return left[0] < right[0]; });
    std::vector<NodeGroup> result;
    for (const Members& members : groups_) {
      NodeGroup group;
      for (const std::size_t position : members) group.nodes.push_back(nodes_[position]);
      std::reverse(group.nodes.begin(), group.nodes.end());
      if (group.nodes.size() > 1) {
        for (const Node* node : group.nodes) {
          if (is_read_outside(node->result(), group)) group.stored.push_back(node->result());
        }
      }
      result.push_back(std::move(group));
    }
    return result;
  }

  bool is_read_outside(const Value* value, const NodeGroup& group) const {
    if (value->is_output() || kept_.contains(value)) return true;
    return std::any_of(value->uses().begin(), value->uses().end(), [&](const Use& use) {
      return std::find(group.nodes.begin(), group.nodes.end(), use.node) == group.nodes.end();
    });
  }

  std::span<const Node* const> nodes_;
  const std::unordered_set<const Value*>& kept_;
  std::unordered_map<const Node*, std::size_t> position_;
  std::vector<Members> groups_;
  std::vector<int> group_of_;  // by position
};

}  // namespace

std::vector<NodeGroup> group_pointwise(std::span<const Node* const> nodes,
                                       const std::unordered_set<const Value*>& kept) {
  return Grouping(nodes, kept).apply();
}

}  // namespace unfuse::cpu
