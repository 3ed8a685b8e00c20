// A graph under construction from Python.
#pragma once

#include "ir/graph.h"

namespace unfuse::python {

class GraphImporter {
 public:
  /// Throws Error (kInternal) once the graph was taken.
  Graph& graph();
  /// Moves the graph out; the importer is of no use from then on.
  Graph take();

 private:
  Graph graph_;
  bool taken_ = false;
};

}  // namespace unfuse::python
