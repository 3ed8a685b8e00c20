// The one door to oneDNN. What differs between 2.6 and 3.x is in onednn.cc and nowhere else.
#pragma once

#include <cstddef>
#include <memory>

#include "targets/cpu/kernels/kernel.h"

namespace unfuse::cpu::onednn {

/// How float32 elements lie in memory: strided, in a layout of oneDNN's own, or (only when asking
/// for a primitive) whatever suits it.
class Layout;
using LayoutPtr = std::shared_ptr<const Layout>;

/// Strides in elements; a dim of size 1 may have any.
LayoutPtr strided_layout(const Sizes& sizes, const Sizes& strides);
LayoutPtr any_layout(const Sizes& sizes);
std::size_t layout_bytes(const Layout& layout);
bool same_layout(const Layout& left, const Layout& right);

/// Copies between layouts of the same sizes.
void reorder(const Layout& from_layout, const void* from, const Layout& to_layout, void* to,
             int threads);

/// A compiled operation for concrete sizes. Immutable.
class Primitive {
 public:
  virtual ~Primitive() = default;
  /// Whether only oneDNN's reference code, slower by orders of magnitude, can do it.
  virtual bool is_reference() const = 0;
  /// The layout taken for weights given as any_layout.
  virtual LayoutPtr weights_layout() const = 0;
  virtual std::size_t scratch_bytes() const = 0;
  /// `bias` is null when there is none. May be called from many threads at once.
  virtual void execute(const void* source, const void* weights, const void* bias, void* destination,
                       std::byte* scratch) const = 0;
};

using PrimitivePtr = std::unique_ptr<const Primitive>;

/// destination = source * weights + bias: [..., M, K] x [..., K, N], batch dims equal or 1 in an
/// operand. No size is 0. Our own kernels do all products; benchmarks compare them with this one.
struct MatmulProblem {
  LayoutPtr source, weights, destination;
  bool has_bias = false;  ///< [N]
  int threads = 1;
};

/// `executable` false: the primitive can only be asked, not executed, and is much cheaper.
PrimitivePtr make_matmul(const MatmulProblem& problem, bool executable = true);

/// weights: [O, C, spatial...], or [G, O / G, C / G, spatial...] if grouped. No size is 0.
struct ConvolutionProblem {
  LayoutPtr source, weights, destination;
  bool has_bias = false;  ///< [O]
  Sizes stride, padding_begin, padding_end, dilation;
  int threads = 1;
};

PrimitivePtr make_convolution(const ConvolutionProblem& problem, bool executable = true);

}  // namespace unfuse::cpu::onednn
