#include "passes/pass_testing.h"
#include "passes/passes.h"

namespace unfuse::passes {
namespace {

using testing::after;

std::string normal(std::string_view text) { return after(normalize, text); }

// normalize, then simplify, as the pipeline does.
std::string simple(std::string_view text) {
  return after(
      [](Graph& graph) {
        normalize(graph);
        simplify(graph);
      },
      text);
}

// --- Linear layers, as AOTAutograd and make_fx write them

TEST(NormalizeLinear, OfAContiguousInput) {
  EXPECT_EQ(simple(R"(
    input parameter %w: f32[4, 3]
    input parameter %b: f32[4]
    input user %x: f32[2, 5, 3]
    %v = aten.view.default(%x, [10, 3])
    %t = aten.t.default(%w)
    %a = aten.addmm.default(%b, %v, %t)
    %y = aten.view.default(%a, [2, 5, 4])
    output user %y
  )"),
            "%linear = aten.linear.default(%x, %w, %b)\n"
            "output user %linear\n");
}

TEST(NormalizeLinear, OfAStridedInputIn16Bits) {
  EXPECT_EQ(simple(R"(
    input parameter %w: f16[4, 3]
    input parameter %b: f16[4]
    input user %x: f16[2, 5, 3]
    %p = aten.transpose.int(%x, 1, 0)
    %t = aten.t.default(%w)
    %c = aten.clone.default(%p, memory_format=contiguous_format)
    %v = aten._unsafe_view.default(%c, [10, 3])
    %m = aten.mm.default(%v, %t)
    %u = aten._unsafe_view.default(%m, [5, 2, 4])
    %y = aten.add.Tensor(%u, %b)
    output user %y
  )"),
            "%p = aten.permute.default(%x, [1, 0, 2])\n"
            "%y = aten.linear.default(%p, %w, %b)\n"
            "output user %y\n");
}

TEST(NormalizeLinear, WithoutABias) {
  EXPECT_EQ(simple(R"(
    input parameter %w: f32[4, 3]
    input user %x: f32[5, 3]
    %t = aten.t.default(%w)
    %y = aten.mm.default(%x, %t)
    output user %y
  )"),
            "%y = aten.linear.default(%x, %w)\n"
            "output user %y\n");
}

TEST(NormalizeLinear, OfAMatrixAsItLies) {
  EXPECT_EQ(simple(R"(
    input parameter %w: f32[3, 4]
    input parameter %b: f32[4]
    input user %x: f32[5, 3]
    %y = aten.addmm.default(%b, %x, %w)
    output user %y
  )"),
            "%permute = aten.permute.default(%w, [1, 0])\n"
            "%y = aten.linear.default(%x, %permute, %b)\n"
            "output user %y\n");
}

TEST(NormalizeLinear, ProductsOfActivationsStayProducts) {
  EXPECT_EQ(simple(R"(
    input user %q: f32[5, 3]
    input user %k: f32[5, 3]
    %t = aten.t.default(%k)
    %y = aten.mm.default(%q, %t)
    output user %y
  )"),
            "%t = aten.permute.default(%k, [1, 0])\n"
            "%y = aten.matmul.default(%q, %t)\n"
            "output user %y\n");
}

TEST(NormalizeLinear, AResidualIsNoBias) {
  EXPECT_EQ(simple(R"(
    input parameter %w: f32[4, 3]
    input user %x: f32[5, 3]
    input user %r: f32[5, 4]
    %y = aten.linear.default(%x, %w)
    %z = aten.add.Tensor(%y, %r)
    output user %z
  )"),
            "%y = aten.linear.default(%x, %w)\n"
            "%z = aten.add.Tensor(%y, %r)\n"
            "output user %z\n");
}

TEST(NormalizeLinear, ALinearThatIsReadTwiceKeepsItsResult) {
  EXPECT_EQ(simple(R"(
    input parameter %w: f32[4, 3]
    input parameter %b: f32[4]
    input user %x: f32[5, 3]
    %y = aten.linear.default(%x, %w)
    %z = aten.add.Tensor(%y, %b)
    output user %z
    output user %y
  )"),
            "%y = aten.linear.default(%x, %w)\n"
            "%z = aten.add.Tensor(%y, %b)\n"
            "output user %z\n"
            "output user %y\n");
}

TEST(NormalizeLinear, AddmmWithFactors) {
  EXPECT_EQ(simple(R"(
    input user %a: f32[5, 4]
    input user %x: f32[5, 3]
    input user %w: f32[3, 4]
    %y = aten.addmm.default(%a, %x, %w, beta=0.5, alpha=2)
    output user %y
  )"),
            "%matmul = aten.matmul.default(%x, %w)\n"
            "%mul = aten.mul.Scalar(%a, 0.5)\n"
            "%y = aten.add.Tensor(%mul, %matmul, alpha=2)\n"
            "output user %y\n");
}

// --- Batched products

TEST(NormalizeMatmul, RaisesTheBatchedFormBack) {
  EXPECT_EQ(simple(R"(
    input user %q: f32[2, 7, 3, 8]
    input user %k: f32[2, 3, 8, 7]
    %p = aten.transpose.int(%q, 1, 2)
    %e = aten.expand.default(%p, [2, 3, 7, 8])
    %c = aten.clone.default(%e, memory_format=contiguous_format)
    %v = aten._unsafe_view.default(%c, [6, 7, 8])
    %e1 = aten.expand.default(%k, [2, 3, 8, 7])
    %v1 = aten.view.default(%e1, [6, 8, 7])
    %b = aten.bmm.default(%v, %v1)
    %y = aten.view.default(%b, [2, 3, 7, 7])
    output user %y
  )"),
            "%p = aten.permute.default(%q, [0, 2, 1, 3])\n"
            "%matmul = aten.matmul.default(%p, %k)\n"
            "output user %matmul\n");
}

TEST(NormalizeMatmul, LeavesBroadcastingToTheProduct) {
  EXPECT_EQ(simple(R"(
    input user %q: f32[2, 3, 7, 8]
    input user %k: f32[1, 8, 5]
    %e1 = aten.expand.default(%k, [2, 3, 8, 5])
    %y = aten.matmul.default(%q, %e1)
    output user %y
  )"),
            "%y = aten.matmul.default(%q, %k)\n"
            "output user %y\n");
}

TEST(NormalizeMatmul, OfVectors) {
  EXPECT_EQ(simple(R"(
    input user %m: f32[4, 3]
    input user %v: f32[3]
    %y = aten.mv.default(%m, %v)
    output user %y
  )"),
            "%reshape = aten.reshape.default(%v, [3, 1])\n"
            "%matmul = aten.matmul.default(%m, %reshape)\n"
            "%y = aten.reshape.default(%matmul, [4])\n"
            "output user %y\n");
}

TEST(NormalizeMatmul, Einsum) {
  EXPECT_EQ(simple(R"(
    input user %a: f32[2, 3, 4]
    input user %b: f32[2, 5, 4]
    %y: f32[2, 3, 5] = aten.einsum.default("bij, bkj -> bik", [%a, %b])
    output user %y
  )"),
            "%permute = aten.permute.default(%b, [0, 2, 1])\n"
            "%y = aten.matmul.default(%a, %permute)\n"
            "output user %y\n");
}

// --- Views

TEST(NormalizeViews, HaveOneFormEach) {
  EXPECT_EQ(normal(R"(
    input user %x: f32[2, 3, 4]
    %a = aten.flatten.using_ints(%x, 1)
    %b = aten.movedim.int(%x, 0, -1)
    %c = aten.narrow.default(%x, 2, 1, 2)
    %d = aten.slice.Tensor(%x, -1, -3, 9223372036854775807)
    %e = aten.select.int(%x, -1, -1)
    output user %a
    output user %b
    output user %c
    output user %d
    output user %e
  )"),
            "%a = aten.reshape.default(%x, [2, 12])\n"
            "%b = aten.permute.default(%x, [1, 2, 0])\n"
            "%c = aten.slice.Tensor(%x, 2, 1, 3)\n"
            "%d = aten.slice.Tensor(%x, 2, 1, 4)\n"
            "%e = aten.select.int(%x, 2, 3)\n"
            "output user %a\n"
            "output user %b\n"
            "output user %c\n"
            "output user %d\n"
            "output user %e\n");
}

TEST(NormalizeViews, ASplitIsASliceAPiece) {
  EXPECT_EQ(normal(R"(
    input user %x: f32[2, 5]
    %a, %b, %c = aten.split.Tensor(%x, 2, 1)
    %d, %e = aten.unbind.int(%x)
    output user %a
    output user %c
    output user %e
  )"),
            "%a = aten.slice.Tensor(%x, 1, 0, 2)\n"
            "%c = aten.slice.Tensor(%x, 1, 4, 5)\n"
            "%e = aten.select.int(%x, 0, 1)\n"
            "output user %a\n"
            "output user %c\n"
            "output user %e\n");
}

TEST(NormalizeViews, OfSymbolicSizes) {
  EXPECT_EQ(normal(R"(
    symbol s0 in [2, 64]
    input user %x: f32[s0, 6]
    %a: f32[s0, 2, 3] = aten.view.default(%x, [s0, 2, 3])
    %b: f32[s0 - 1, 6] = aten.slice.Tensor(%x, 0, 1, 9223372036854775807)
    %c: f32[6] = aten.select.int(%x, 0, -1)
    output user %a
    output user %b
    output user %c
  )"),
            "%a = aten.reshape.default(%x, [s0, 2, 3])\n"
            "%b = aten.slice.Tensor(%x, start=1, end=s0)\n"
            "%c = aten.select.int(%x, 0, s0 - 1)\n"
            "output user %a\n"
            "output user %b\n"
            "output user %c\n");
}

TEST(NormalizeViews, IdentitiesGoInsideTheGraph) {
  EXPECT_EQ(normal(R"(
    input user %x: f32[2, 3]
    %a = aten.clone.default(%x)
    %b = aten.detach.default(%a)
    %c = aten.dropout.default(%b, 0.1, False)
    %d = aten._to_copy.default(%c, dtype=float32)
    %e = aten.alias.default(%d)
    %f = aten.relu.default(%e)
    output user %f
  )"),
            "%f = aten.relu.default(%x)\n"
            "output user %f\n");
}

TEST(NormalizeViews, AnOutputThatIsACopyStaysOne) {
  EXPECT_EQ(normal(R"(
    input user %x: f32[2, 3]
    %a = aten.clone.default(%x)
    %t = aten.t.default(%x)
    %c = aten.contiguous.default(%t)
    %r = aten.relu.default(%c)
    output user %a
    output user %c
    output user %r
  )"),
            "%a = aten.clone.default(%x)\n"
            "%t = aten.permute.default(%x, [1, 0])\n"
            "%clone = aten.clone.default(%t)\n"
            "%r = aten.relu.default(%t)\n"
            "output user %a\n"
            "output user %clone\n"
            "output user %r\n");
}

TEST(NormalizeShapes, StackAndRollAndRepeat) {
  EXPECT_EQ(normal(R"(
    input user %x: f32[3]
    input user %y: f32[3]
    %a = aten.stack.default([%x, %y], -1)
    %b = aten.roll.default(%x, [1], [0])
    %c = aten.repeat.default(%x, [2, 2])
    output user %a
    output user %b
    output user %c
  )"),
            "%reshape = aten.reshape.default(%x, [3, 1])\n"
            "%reshape_1 = aten.reshape.default(%y, [3, 1])\n"
            "%a = aten.cat.default([%reshape, %reshape_1], 1)\n"
            "%slice = aten.slice.Tensor(%x, start=2, end=3)\n"
            "%slice_1 = aten.slice.Tensor(%x, start=0, end=2)\n"
            "%b = aten.cat.default([%slice, %slice_1])\n"
            "%reshape_2 = aten.reshape.default(%x, [1, 1, 1, 3])\n"
            "%expand = aten.expand.default(%reshape_2, [2, 1, 2, 3])\n"
            "%c = aten.reshape.default(%expand, [2, 6])\n"
            "output user %a\n"
            "output user %b\n"
            "output user %c\n");
}

TEST(NormalizeShapes, AWrittenSliceIsACat) {
  EXPECT_EQ(normal(R"(
    input user %x: f32[5, 2]
    input user %s: f32[2, 2]
    input user %r: f32[2]
    %a = aten.slice_scatter.default(%x, %s, 0, 1, 3)
    %b = aten.select_scatter.default(%x, %r, 0, -1)
    output user %a
    output user %b
  )"),
            "%slice = aten.slice.Tensor(%x, start=0, end=1)\n"
            "%slice_1 = aten.slice.Tensor(%x, start=3, end=5)\n"
            "%a = aten.cat.default([%slice, %s, %slice_1])\n"
            "%reshape = aten.reshape.default(%r, [1, 2])\n"
            "%slice_2 = aten.slice.Tensor(%x, start=0, end=4)\n"
            "%b = aten.cat.default([%slice_2, %reshape])\n"
            "output user %a\n"
            "output user %b\n");
}

// --- Everything else

TEST(NormalizeNumbers, AreScalarOverloads) {
  EXPECT_EQ(normal(R"(
    input user %x: f32[3]
    %a = aten.add.Tensor(%x, 1, alpha=2)
    %b = aten.mul.Tensor(2.0, %a)
    %c = aten.sub.Tensor(1, %b)
    %d = aten.lt.Tensor(0, %c)
    %e = aten.where.self(%d, %c, 0.5)
    output user %e
  )"),
            "%a = aten.add.Scalar(%x, 1, 2)\n"
            "%b = aten.mul.Scalar(%a, 2.0)\n"
            "%c = aten.rsub.Scalar(%b, 1)\n"
            "%d = aten.gt.Scalar(%c, 0)\n"
            "%e = aten.where.ScalarOther(%d, %c, 0.5)\n"
            "output user %e\n");
}

TEST(NormalizeNorms, WhoseStatisticsNobodyReads) {
  EXPECT_EQ(normal(R"(
    input parameter %w: f32[4]
    input parameter %b: f32[4]
    input buffer %m: f32[4]
    input buffer %v: f32[4]
    input user %x: f32[2, 3, 4]
    input user %i: f32[2, 4, 5, 5]
    %y: f32[2, 3, 4], %u: f32[2, 3, 1], %r: f32[2, 3, 1] = aten.native_layer_norm.default(%x, [4], %w, %b, 1e-5)
    %n: f32[2, 4, 5, 5], %sm: f32[0], %sv: f32[0] = aten._native_batch_norm_legit_no_training.default(%i, %w, %b, %m, %v, 0.1, 1e-5)
    %g: f32[2, 4, 5, 5], %gm: f32[2, 2], %gr: f32[2, 2] = aten.native_group_norm.default(%i, %w, %b, 2, 4, 25, 2, 1e-5)
    output user %y
    output user %n
    output user %g
  )"),
            "%y = aten.layer_norm.default(%x, [4], %w, %b)\n"
            "%n = aten.batch_norm.default(%i, %w, %b, %m, %v, False, 0.0, 1e-05, False)\n"
            "%g = aten.group_norm.default(%i, 2, %w, %b)\n"
            "output user %y\n"
            "output user %n\n"
            "output user %g\n");
}

TEST(NormalizeNorms, WhoseStatisticsAreReadStay) {
  const std::string text = normal(R"(
    input user %x: f32[2, 3, 4]
    %y: f32[2, 3, 4], %u: f32[2, 3, 1], %r: f32[2, 3, 1] = aten.native_layer_norm.default(%x, [4], None, None, 1e-5)
    output user %y
    output user %u
  )");
  EXPECT_NE(text.find("aten.native_layer_norm.default"), std::string::npos);
}

TEST(NormalizeSoftmax, HasOneForm) {
  EXPECT_EQ(normal(R"(
    input user %x: f32[2, 3]
    input user %h: f16[2, 3]
    %a = aten._softmax.default(%x, -1, False)
    %b = aten._softmax.default(%h, 1, True)
    %c = aten.softmax.int(%x, -2, float32)
    %d = aten._log_softmax.default(%x, 1, False)
    output user %a
    output user %b
    output user %c
    output user %d
  )"),
            "%a = aten.softmax.int(%x, 1)\n"
            "%b = aten.softmax.int(%h, 1, float32)\n"
            "%c = aten.softmax.int(%x, 0)\n"
            "%d = aten.log_softmax.int(%x, 1)\n"
            "output user %a\n"
            "output user %b\n"
            "output user %c\n"
            "output user %d\n");
}

TEST(NormalizeConvolution, HasOneForm) {
  EXPECT_EQ(normal(R"(
    input parameter %w: f32[8, 4, 3]
    input parameter %v: f32[8, 4, 2, 2]
    input user %x: f32[2, 4, 9]
    input user %i: f32[4, 6, 6]
    %a = aten.conv1d.padding(%x, %w, None, [1], "same")
    %b = aten.conv2d.padding(%i, %v, None, [1, 1], "same")
    output user %a
    output user %b
  )"),
            "%a = aten.convolution.default(%x, %w, None, [1], [1], [1], False, [0], 1)\n"
            "%constant_pad_nd = aten.constant_pad_nd.default(%i, [0, 1, 0, 1], 0.0)\n"
            "%reshape = aten.reshape.default(%constant_pad_nd, [1, 4, 7, 7])\n"
            "%convolution = aten.convolution.default(%reshape, %v, None, [1, 1], [0, 0], [1, 1], "
            "False, [0, 0], 1)\n"
            "%b = aten.reshape.default(%convolution, [8, 6, 6])\n"
            "output user %a\n"
            "output user %b\n");
}

TEST(NormalizeCreation, IsFull) {
  EXPECT_EQ(normal(R"(
    input user %x: f32[2, 3]
    %a = aten.zeros_like.default(%x)
    %b = aten.new_ones.default(%x, [], dtype=bool)
    %c = aten.scalar_tensor.default(2, dtype=float32)
    %d = aten.arange.default(4)
    output user %a
    output user %b
    output user %c
    output user %d
  )"),
            "%a = aten.full.default([2, 3], 0.0, dtype=float32)\n"
            "%b = aten.full.default([], True, dtype=bool)\n"
            "%c = aten.full.default([], 2.0, dtype=float32)\n"
            "%d = aten.arange.start_step(0, 4, dtype=int64)\n"
            "output user %a\n"
            "output user %b\n"
            "output user %c\n"
            "output user %d\n");
}

TEST(NormalizeReductions, ListTheirDimensions) {
  EXPECT_EQ(normal(R"(
    input user %x: f32[2, 3]
    %a = aten.sum.default(%x)
    %b = aten.mean.dim(%x, [-1], True)
    %c, %i = aten.max.dim(%x, -1)
    %d = aten.std.correction(%x, [1], correction=0)
    %e = aten.linalg_vector_norm.default(%x, 2, [1], True)
    output user %a
    output user %b
    output user %c
    output user %d
    output user %e
  )"),
            "%a = aten.sum.dim_IntList(%x, [0, 1])\n"
            "%b = aten.mean.dim(%x, [1], True)\n"
            "%c = aten.amax.default(%x, [1])\n"
            "%var = aten.var.correction(%x, [1], correction=0.0)\n"
            "%d = aten.sqrt.default(%var)\n"
            "%mul = aten.mul.Tensor(%x, %x)\n"
            "%sum = aten.sum.dim_IntList(%mul, [1], True)\n"
            "%e = aten.sqrt.default(%sum)\n"
            "output user %a\n"
            "output user %b\n"
            "output user %c\n"
            "output user %d\n"
            "output user %e\n");
}

TEST(NormalizePooling, HasFullLists) {
  EXPECT_EQ(normal(R"(
    input user %x: f32[2, 3, 8, 8]
    input user %s: f32[2, 3, 8]
    %a: f32[2, 3, 4, 4], %i: i64[2, 3, 4, 4] = aten.max_pool2d_with_indices.default(%x, [2, 2])
    %b = aten.adaptive_avg_pool2d.default(%x, [1, 1])
    %c = aten.max_pool1d.default(%s, [2], [2])
    output user %a
    output user %b
    output user %c
  )"),
            "%a = aten.max_pool2d.default(%x, [2, 2], [2, 2])\n"
            "%b = aten.mean.dim(%x, [2, 3], True)\n"
            "%reshape = aten.reshape.default(%s, [2, 3, 1, 8])\n"
            "%max_pool2d = aten.max_pool2d.default(%reshape, [1, 2], [1, 2])\n"
            "%c = aten.reshape.default(%max_pool2d, [2, 3, 4])\n"
            "output user %a\n"
            "output user %b\n"
            "output user %c\n");
}

TEST(NormalizePointwise, WhatIsSeveralInOne) {
  EXPECT_EQ(normal(R"(
    input user %x: f32[4]
    input user %m: b8[4]
    %a = aten.pow.Tensor_Scalar(%x, 2)
    %b = aten.hardtanh.default(%a, 0, 6)
    %c = aten.rsub.Tensor(%b, %x)
    %d = aten.__and__.Tensor(%m, %m)
    %e = aten.bitwise_not.default(%d)
    %f = aten.multiply.Tensor(%c, %x)
    output user %e
    output user %f
  )"),
            "%a = aten.mul.Tensor(%x, %x)\n"
            "%b = aten.clamp.default(%a, 0, 6)\n"
            "%c = aten.sub.Tensor(%x, %b)\n"
            "%d = aten.logical_and.default(%m, %m)\n"
            "%e = aten.logical_not.default(%d)\n"
            "%f = aten.mul.Tensor(%c, %x)\n"
            "output user %e\n"
            "output user %f\n");
}

TEST(NormalizeAssertions, AreGone) {
  EXPECT_EQ(normal(R"(
    input user %x: f32[4]
    aten._assert_tensor_metadata.default(%x, None, None, float32)
    %y = aten.relu.default(%x)
    output user %y
  )"),
            "%y = aten.relu.default(%x)\n"
            "output user %y\n");
}

TEST(Normalize, LeavesWhatItDoesNotKnow) {
  EXPECT_EQ(normal(R"(
    input user %x: f32[4]
    %y: f32[4] = mine.op.default(%x, 3)
    output user %y
  )"),
            "%y = mine.op.default(%x, 3)\n"
            "output user %y\n");
}

}  // namespace
}  // namespace unfuse::passes
