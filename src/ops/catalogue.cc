#include "ops/catalogue.h"

#include <fmt/format.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "ops/families.h"
#include "unfuse/error.h"

namespace unfuse::ops {
namespace {

using Family = std::span<const OpInfo> (*)();

constexpr Family kFamilies[] = {
    pointwise_unary_ops, pointwise_binary_ops, comparison_ops,
    selection_ops,       creation_ops,         views_ops,
    copies_ops,          reductions_ops,       matmul_ops,
    norms_ops,           softmax_ops,          activations_ops,
    dropout_ops,         convolution_ops,      pooling_ops,
    resampling_ops,      indexing_ops,         scan_ops,
    attention_ops,       asserts_ops,          loss_ops,
    recurrent_ops,       packed_rows_ops,
};

struct Catalogue {
  std::vector<Op> ops;
  std::unordered_map<std::string_view, const Op*> by_name;  // views into ops
};

Op make_op(const OpInfo& row, std::size_t index) {
  return Op{static_cast<OpId>(index), row.name, parse_schema(row.schema), row.traits,
            row.result_types};
}

Catalogue make_catalogue() {
  Catalogue catalogue;
  for (const Family family : kFamilies) {
    for (const OpInfo& row : family()) {
      catalogue.ops.push_back(make_op(row, catalogue.ops.size()));
    }
  }
  for (const Op& op : catalogue.ops) {
    if (!catalogue.by_name.emplace(op.name, &op).second) {
      throw Error(ErrorKind::kInternal, fmt::format("{} has two rows", op.name), "src/ops");
    }
  }
  return catalogue;
}

const Catalogue& whole() {
  static const Catalogue catalogue = make_catalogue();
  return catalogue;
}

}  // namespace

std::span<const Op> catalogue() { return whole().ops; }

const Op* find(std::string_view name) {
  const auto found = whole().by_name.find(name);
  return found == whole().by_name.end() ? nullptr : found->second;
}

const Op& get(std::string_view name) {
  const Op* op = find(name);
  if (op == nullptr) {
    throw Error(ErrorKind::kInternal, fmt::format("no op is named {}", name), "",
                "add its row to a family in src/ops");
  }
  return *op;
}

}  // namespace unfuse::ops
