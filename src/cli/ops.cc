#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "cli/commands.h"
#include "cli/output.h"
#include "onnx/convert.h"
#include "ops/catalogue.h"
#include "passes/core/to_core.h"
#include "passes/decompose/decompose.h"
#include "passes/normalize/rewrites.h"
#include "passes/passes.h"
#include "targets/cpu/lowering/table.h"

namespace unfuse::cli {
namespace {

constexpr const char* kHead = R"(# Ops

Printed by `unfuse ops` from the tables that the code goes by. What an op means for the CPU target:

- **runs**: the target has a kernel for it;
- **composed**: it is given to the target as the ops of core ATen that it is composed of, and runs where they do;
- **opened**: a fused op, decomposed into others before a target sees it;
- **rewritten**: another spelling of an op that runs, see [dialect.md](dialect.md);
- **pure**: writes to its argument; functionalization turns it into the op that does not;
- **known**: its schema is known, nothing more. In Python it runs in torch.

An op that is not listed is imported all the same, and left to torch. That an op runs does not mean that it does
so for every dtype: a report gives the reason where it does not.

ONNX: **yes** where `unfuse export` has a form of the op itself, or of those that it is composed of. Ops that are opened, rewritten or pure are exported as
what they become.
)";

bool is_composed(const Op& op) { return !passes::core_forms().find(op.name).empty(); }

struct Fates {
  std::set<std::string_view> runs;
  std::set<std::string_view> opened;

  Fates() {
    for (const auto& row : cpu::lowering_rows()) runs.insert(row.op);
    for (const auto& row : passes::decompositions()) opened.insert(row.op);
  }

  const char* of(const Op& op) const {
    if (opened.contains(op.name)) return "opened";
    if (runs.contains(op.name)) return "runs";
    const bool rewritten =
        !passes::normalizations().find(op.name).empty() || passes::is_storage_window(op.name);
    if (rewritten) return "rewritten";
    if (is_composed(op)) return "composed";
    return op.schema.mutates() ? "pure" : "known";
  }
};

}  // namespace

int list_ops() {
  const Fates fates;
  std::map<std::string, const char*> listed;
  std::map<std::string, int> counts;
  for (const Op& op : ops::catalogue()) {
    const char* fate = fates.of(op);
    listed.emplace(op.name, fate);
    ++counts[fate];
  }
  write_out(fmt::format("{}\n{} ops:", kHead, listed.size()));
  const char* separator = " ";
  for (const auto& [fate, count] : counts) {
    write_out(fmt::format("{}{} {}", separator, count, fate));
    separator = ", ";
  }
  write_out(".\n\n| op | CPU | ONNX |\n| --- | --- | --- |\n");
  for (const auto& [name, fate] : listed) {
    const Op& op = ops::get(name);
    const bool exported = onnx::has_form(op) || is_composed(op);
    write_out(fmt::format("| `{}` | {} | {} |\n", name, fate, exported ? "yes" : ""));
  }
  return kDone;
}

}  // namespace unfuse::cli
