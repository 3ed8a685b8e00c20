#include "passes/decompose/node_notes.h"

#include <fmt/format.h>

#include <algorithm>

namespace unfuse::passes {
namespace {

std::string name_of(const Node& node) {
  return node.results().empty() ? node.where() : node.result()->name();
}

}  // namespace

void NodeNotes::add(const Node& node, const std::string& text) {
  last_node_ = name_of(node);
  last_text_ = node.op().name + " " + text;
  auto note = std::find_if(notes_.begin(), notes_.end(),
                           [&](const Note& known) { return known.text == last_text_; });
  if (note == notes_.end()) {
    const Origin& origin = node.origin();
    const std::string& place = origin.module_path.empty() ? origin.source : origin.module_path;
    note = notes_.insert(note, Note{last_text_, place, {}});
  }
  note->nodes.insert(last_node_);
}

std::string NodeNotes::last_of(const Node& node) const {
  return last_node_ == name_of(node) ? last_text_ : "";
}

void NodeNotes::add_to(Report& report) const {
  for (const Note& note : notes_) {
    std::string line = note.place;
    if (note.nodes.size() > 1) {
      line = fmt::format("in {} nodes{}{}", note.nodes.size(), note.place.empty() ? "" : ", first ",
                         note.place);
    }
    line += (line.empty() ? "" : ": ") + note.text;
    if (std::find(report.notes.begin(), report.notes.end(), line) == report.notes.end()) {
      report.notes.push_back(std::move(line));
    }
  }
}

}  // namespace unfuse::passes
