#include "ir/verify.h"
#include "targets/cpu/fusion/fusion.h"

namespace unfuse::cpu {
namespace {

struct Pass {
  const char* name;
  void (*apply)(Graph& graph);
};

constexpr Pass kPasses[] = {
    {"widen", widen},
};

}  // namespace

void run_fusion_pipeline(Graph& graph) {
  for (const Pass& pass : kPasses) {
    pass.apply(graph);
#ifndef NDEBUG
    verify(graph, pass.name);
#endif
  }
}

}  // namespace unfuse::cpu
