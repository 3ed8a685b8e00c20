// What there is to say about nodes: a note for all that it is said of, not one for each layer.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "unfuse/report.h"

namespace unfuse::passes {

class NodeNotes {
 public:
  /// `text` goes on behind the name of the node's op, as a sentence does. Said of a node again, it
  /// counts once.
  void add(const Node& node, const std::string& text);
  /// What was said last of this node, with its op; empty when nothing was.
  std::string last_of(const Node& node) const;

  /// "layers.0: op text", or "in 6 nodes, first layers.0: op text", in the order of first nodes.
  void add_to(Report& report) const;

 private:
  struct Note {
    std::string text;   ///< with the op
    std::string place;  ///< of the first node
    std::set<std::string> nodes;
  };

  std::vector<Note> notes_;
  std::string last_node_;
  std::string last_text_;
};

}  // namespace unfuse::passes
