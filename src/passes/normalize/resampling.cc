// Resampling: the sizes of the result are always given, and the factors beside them where they
// were.
#include <string>

#include "passes/normalize/rewrites.h"

namespace unfuse::passes {
namespace {

// (input, output_size, [align_corners,] scale_factors), of which either sizes or factors are None,
// becomes (self, output_size, [align_corners,] a factor a dim).
Replacement with_sizes(RewriteContext& at, const Node& node) {
  const std::vector<Dim>& sizes = node.result()->sizes();
  Arguments arguments = {node.input(0), Argument::Ints(sizes.begin() + 2, sizes.end())};
  if (node.op().schema.index_of("align_corners") >= 0) {
    arguments.push_back(node.argument("align_corners"));
  }
  const auto* factors = node.argument("scale_factors").get_if<Argument::Floats>();
  for (std::size_t i = 0; i + 2 < sizes.size(); ++i) {
    arguments.push_back(factors == nullptr ? Argument() : Argument(factors->at(i)));
  }
  std::string op = node.op().name;
  op.replace(op.rfind('.'), std::string::npos, ".default");
  return at.become(node, op, std::move(arguments));
}

constexpr RewriteRow kRows[] = {
    {"aten.upsample_nearest1d.vec", with_sizes},
    {"aten._upsample_nearest_exact1d.vec", with_sizes},
    {"aten.upsample_linear1d.vec", with_sizes},
    {"aten.upsample_nearest2d.vec", with_sizes},
    {"aten._upsample_nearest_exact2d.vec", with_sizes},
    {"aten.upsample_bilinear2d.vec", with_sizes},
    {"aten._upsample_bilinear2d_aa.vec", with_sizes},
    {"aten.upsample_bicubic2d.vec", with_sizes},
    {"aten._upsample_bicubic2d_aa.vec", with_sizes},
};

}  // namespace

std::span<const RewriteRow> resampling_rewrites() { return kRows; }

}  // namespace unfuse::passes
