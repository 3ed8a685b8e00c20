#include "passes/pass_testing.h"
#include "passes/passes.h"
#include "unfuse/error.h"

namespace unfuse::passes {
namespace {

using testing::after;
using testing::parse_graph;

std::string functional(std::string_view text) { return after(functionalize, text); }

TEST(Functionalize, LeavesAPureGraphAlone) {
  EXPECT_EQ(functional(R"(
    input user %x: f32[2, 3]
    %y = aten.view.default(%x, [6])
    output user %y
  )"),
            "%y = aten.view.default(%x, [6])\n"
            "output user %y\n");
}

TEST(Functionalize, MakesAnInPlaceOpPure) {
  EXPECT_EQ(functional(R"(
    input user %m: b8[2, 3]
    %z = aten.zeros_like.default(%m, dtype=float32)
    %f = aten.masked_fill_.Scalar(%z, %m, -inf)
    %y = aten.add.Tensor(%f, %z)
    output user %y
  )"),
            "%z = aten.zeros_like.default(%m, dtype=float32)\n"
            "%masked_fill = aten.masked_fill.Scalar(%z, %m, -inf)\n"
            "%y = aten.add.Tensor(%masked_fill, %masked_fill)\n"
            "output user %y\n");
}

TEST(Functionalize, WritesThroughASlice) {
  EXPECT_EQ(functional(R"(
    input user %x: f32[4]
    %z = aten.mul.Tensor(%x, %x)
    %s = aten.slice.Tensor(%z, 0, 1, 3)
    %a = aten.add_.Scalar(%s, 1)
    output user %z
    output user %s
  )"),
            "%z = aten.mul.Tensor(%x, %x)\n"
            "%s = aten.slice.Tensor(%z, start=1, end=3)\n"
            "%add = aten.add.Scalar(%s, 1)\n"
            "%slice_scatter = aten.slice_scatter.default(%z, %add, start=1, end=3)\n"
            "output user %slice_scatter\n"
            "output user %add\n");
}

TEST(Functionalize, ReplaysTheChainsOfOtherAliases) {
  // Written through one view, read through another that was made before.
  EXPECT_EQ(functional(R"(
    input user %x: f32[2, 3]
    %z = aten.clone.default(%x)
    %t = aten.t.default(%z)
    %row = aten.select.int(%z, 0, -1)
    %w = aten.zero_.default(%row)
    output user %t
  )"),
            "%z = aten.clone.default(%x)\n"
            "%t = aten.t.default(%z)\n"
            "%row = aten.select.int(%z, 0, -1)\n"
            "%full = aten.full.default([3], 0, dtype=float32)\n"
            "%select_scatter = aten.select_scatter.default(%z, %full, 0, 1)\n"
            "%permute = aten.permute.default(%select_scatter, [1, 0])\n"
            "output user %permute\n");
}

TEST(Functionalize, WritesThroughAChain) {
  EXPECT_EQ(functional(R"(
    input user %x: f32[2, 6]
    %z = aten.clone.default(%x)
    %v = aten.view.default(%z, [2, 3, 2])
    %p = aten.permute.default(%v, [1, 0, 2])
    %s = aten.select.int(%p, 0, 1)
    %w = aten.mul_.Scalar(%s, 2)
    output user %z
  )"),
            "%z = aten.clone.default(%x)\n"
            "%v = aten.view.default(%z, [2, 3, 2])\n"
            "%p = aten.permute.default(%v, [1, 0, 2])\n"
            "%s = aten.select.int(%p, 0, 1)\n"
            "%mul = aten.mul.Scalar(%s, 2)\n"
            "%reshape = aten.reshape.default(%z, [2, 3, 2])\n"
            "%permute = aten.permute.default(%reshape, [1, 0, 2])\n"
            "%select_scatter = aten.select_scatter.default(%permute, %mul, 0, 1)\n"
            "%permute_1 = aten.permute.default(%select_scatter, [1, 0, 2])\n"
            "%reshape_1 = aten.reshape.default(%permute_1, [2, 6])\n"
            "output user %reshape_1\n");
}

TEST(Functionalize, ReturnsMutatedInputs) {
  EXPECT_EQ(functional(R"(
    input buffer %count: i64[] from counter
    input user %x: f32[3]
    %c = aten.add_.Tensor(%count, 1)
    %y = aten.relu_.default(%x)
    %z = aten.add.Tensor(%y, %c)
    output user %z
  )"),
            "%add = aten.add.Tensor(%count, 1)\n"
            "%relu = aten.relu.default(%x)\n"
            "%z = aten.add.Tensor(%relu, %add)\n"
            "output user %z\n"
            "output buffer mutation %add to counter\n"
            "output input mutation %relu to x\n");
}

TEST(Functionalize, KeepsTheDtypeOfWhatIsWritten) {
  EXPECT_EQ(functional(R"(
    input user %h: f16[3]
    input user %x: f32[3]
    %c = aten.clone.default(%h)
    %y = aten.add_.Tensor(%c, %x)
    output user %y
  )"),
            "%c = aten.clone.default(%h)\n"
            "%add = aten.add.Tensor(%c, %x)\n"
            "%_to_copy = aten._to_copy.default(%add, dtype=float16)\n"
            "output user %_to_copy\n");
}

TEST(Functionalize, CopiesBroadcastAndConverted) {
  EXPECT_EQ(functional(R"(
    input user %x: f32[3]
    input user %y: i64[1]
    %z = aten.zeros_like.default(%x)
    %c = aten.copy_.default(%z, %y)
    output user %c
  )"),
            "%z = aten.zeros_like.default(%x)\n"
            "%_to_copy = aten._to_copy.default(%y, dtype=float32)\n"
            "%expand = aten.expand.default(%_to_copy, [3])\n"
            "output user %expand\n");
}

TEST(Functionalize, ASourceIsNotAnAliasOfWhatItWasCopiedTo) {
  // x takes y's value, and y alone changes afterwards.
  EXPECT_EQ(functional(R"(
    input user %a: f32[3]
    %x = aten.zeros_like.default(%a)
    %y = aten.mul.Tensor(%a, %a)
    %c = aten.copy_.default(%x, %y)
    %d = aten.add.Tensor(%x, %a)
    %e = aten.add_.Scalar(%y, 1)
    output user %x
    output user %y
    output user %d
  )"),
            "%x = aten.zeros_like.default(%a)\n"
            "%y = aten.mul.Tensor(%a, %a)\n"
            "%clone = aten.clone.default(%y)\n"
            "%d = aten.add.Tensor(%clone, %a)\n"
            "%add = aten.add.Scalar(%y, 1)\n"
            "output user %clone\n"
            "output user %add\n"
            "output user %d\n");
}

TEST(Functionalize, ReshapeOfATransposedTensorIsACopy) {
  EXPECT_EQ(functional(R"(
    input user %x: f32[2, 3]
    %z = aten.clone.default(%x)
    %t = aten.t.default(%z)
    %r = aten.reshape.default(%t, [6])
    %w = aten.zero_.default(%r)
    output user %z
    output user %r
  )"),
            "%z = aten.clone.default(%x)\n"
            "%t = aten.t.default(%z)\n"
            "%r = aten.reshape.default(%t, [6])\n"
            "%full = aten.full.default([6], 0, dtype=float32)\n"
            "output user %z\n"
            "output user %full\n");
}

TEST(Functionalize, ReshapeOfAContiguousTensorIsAView) {
  EXPECT_EQ(functional(R"(
    input user %x: f32[2, 3]
    %z = aten.clone.default(%x)
    %r = aten.reshape.default(%z, [6])
    %w = aten.zero_.default(%r)
    output user %z
  )"),
            "%z = aten.clone.default(%x)\n"
            "%r = aten.reshape.default(%z, [6])\n"
            "%full = aten.full.default([6], 0, dtype=float32)\n"
            "%reshape = aten.reshape.default(%full, [2, 3])\n"
            "output user %reshape\n");
}

TEST(Functionalize, DropoutInInferenceIsTheTensorItself) {
  EXPECT_EQ(functional(R"(
    input user %x: f32[3]
    %d = aten.dropout.default(%x, 0.5, False)
    %w = aten.zero_.default(%d)
    output user %x
  )"),
            "%d = aten.dropout.default(%x, 0.5, False)\n"
            "%full = aten.full.default([3], 0, dtype=float32)\n"
            "output user %full\n"
            "output input mutation %full to x\n");
}

TEST(Functionalize, ChangesOfMetadataAreViewsFromThereOn) {
  EXPECT_EQ(functional(R"(
    input user %x: f32[3]
    %z = aten.mul.Tensor(%x, %x)
    %u: f32[1, 3] = aten.unsqueeze_.default(%z, 0)
    %w = aten.mul.Scalar(%z, 2)
    output user %z
  )"),
            "%z = aten.mul.Tensor(%x, %x)\n"
            "%reshape = aten.reshape.default(%z, [1, 3])\n"
            "%w = aten.mul.Scalar(%reshape, 2)\n"
            "output user %reshape\n");
}

void expect_unsupported(std::string_view text, const std::string& part) {
  Graph graph = parse_graph(text);
  try {
    functionalize(graph);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(Functionalize, FillsThePlacesOfAnExpand) {
  EXPECT_EQ(functional(R"(
    input user %x: f32[1, 3]
    %z = aten.mul.Tensor(%x, %x)
    %e = aten.expand.default(%z, [4, 2, 3])
    %w = aten.fill_.Scalar(%e, 7)
    output user %z
  )"),
            "%z = aten.mul.Tensor(%x, %x)\n"
            "%e = aten.expand.default(%z, [4, 2, 3])\n"
            "%full = aten.full.default([4, 2, 3], 7, dtype=float32)\n"
            "%select = aten.select.int(%full, 0, 0)\n"
            "%slice = aten.slice.Tensor(%select, start=0, end=1)\n"
            "output user %slice\n");
}

TEST(Functionalize, WritesThroughAnExpandToTheSameSizes) {
  EXPECT_EQ(functional(R"(
    input user %x: f32[2, 3]
    %z = aten.mul.Tensor(%x, %x)
    %e = aten.expand.default(%z, [1, 2, 3])
    %w = aten.add_.Scalar(%e, 7)
    output user %z
  )"),
            "%z = aten.mul.Tensor(%x, %x)\n"
            "%e = aten.expand.default(%z, [1, 2, 3])\n"
            "%add = aten.add.Scalar(%e, 7)\n"
            "%reshape = aten.reshape.default(%add, [2, 3])\n"
            "output user %reshape\n");
}

TEST(Functionalize, RefusesToWriteThroughAnExpand) {
  expect_unsupported(R"(
    input user %x: f32[1, 3]
    input user %m: b8[2, 3]
    %e = aten.expand.default(%x, [2, 3])
    %w = aten.masked_fill_.Scalar(%e, %m, 7)
    output user %e
  )",
                     "writes through aten.expand.default");
}

TEST(Functionalize, RefusesToWriteThroughAsStrided) {
  expect_unsupported(R"(
    input user %x: f32[6]
    %e: f32[2, 3] strides [1, 1] = aten.as_strided.default(%x, [2, 3], [1, 1])
    %w = aten.zero_.default(%e)
    output user %e
  )",
                     "writes through aten.as_strided.default");
}

TEST(Functionalize, RefusesAnInPlaceOpThatItDoesNotKnow) {
  expect_unsupported(R"(
    input user %x: f32[6]
    %e: f32[6] = aten.cauchy_.default(%x)
    output user %e
  )",
                     "no known pure form");
}

TEST(Functionalize, RefusesWhenSizesLeaveOpenWhetherItIsAView) {
  expect_unsupported(R"(
    symbol s0 in [2, 64]
    input user %x: f32[s0, 3]
    %t: f32[3, s0] strides [1, 3] = aten.t.default(%x)
    %r: f32[3*s0] = aten.reshape.default(%t, [3*s0])
    %w = aten.zero_.default(%r)
    output user %r
  )",
                     "may or may not be a view");
}

TEST(Functionalize, RefusesBatchNormInTraining) {
  expect_unsupported(R"(
    input user %x: f32[2, 3, 4, 4]
    input buffer %m: f32[3]
    input buffer %v: f32[3]
    %y: f32[2, 3, 4, 4] = aten.batch_norm.default(%x, None, None, %m, %v, True, 0.1, 1e-5, True)
    output user %y
  )",
                     "running statistics");
}

}  // namespace
}  // namespace unfuse::passes
