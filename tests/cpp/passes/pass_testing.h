// Running a pass on a graph from text, and reading the result as text.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "ir/print.h"
#include "ir/verify.h"
#include "support/graph_parser.h"

namespace unfuse::testing {

using Pass = void (*)(Graph& graph);

/// Nodes and outputs, a line each, without types.
inline std::string body_of(const Graph& graph) {
  const std::string text = print(graph, {.types = false});
  std::string body;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = text.find('\n', start) + 1;
    const std::string line = text.substr(start, end - start);
    if (!line.starts_with("input ") && !line.starts_with("symbol ")) body += line;
    start = end;
  }
  return body;
}

/// What the pass makes of the graph; checks that the graph is valid and that a second run changes
/// nothing.
inline std::string after(Pass pass, std::string_view text) {
  Graph graph = parse_graph(text);
  verify(graph, "parsing");
  pass(graph);
  verify(graph, "the pass");
  std::string body = body_of(graph);
  pass(graph);
  verify(graph, "the pass, run again");
  EXPECT_EQ(body_of(graph), body) << "a second run changes the graph again";
  return body;
}

}  // namespace unfuse::testing
