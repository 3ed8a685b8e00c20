#include "passes/pass_testing.h"
#include "passes/passes.h"

namespace unfuse::passes {
namespace {

std::string resolved(std::string_view text) {
  return testing::after(resolve_storage_windows, text);
}

TEST(StorageWindows, AreRowsOfTheStorageInItsOrder) {
  EXPECT_EQ(resolved(R"(
    input user %x: f32[2, 4]
    %z = aten.mul.Tensor(%x, %x)
    %t = aten.t.default(%z)
    %w = aten.as_strided.default(%t, [2, 2], [4, 1], 2)
    output user %w
  )"),
            "%z = aten.mul.Tensor(%x, %x)\n"
            "%t = aten.t.default(%z)\n"
            "%reshape = aten.reshape.default(%z, [4, 2])\n"
            "%arange = aten.arange.start_step(1, 2, dtype=int64)\n"
            "%arange_1 = aten.arange.start_step(0, 2, dtype=int64)\n"
            "%mul = aten.mul.Scalar(%arange_1, 2)\n"
            "%add = aten.add.Tensor(%mul, %arange)\n"
            "%index_select = aten.index_select.default(%reshape, 0, %add)\n"
            "output user %index_select\n");
}

TEST(StorageWindows, OnAnInputStayAndAreCalledOnTheInput) {
  EXPECT_EQ(resolved(R"(
    input user %x: f32[2, 4]
    %t = aten.t.default(%x)
    %w = aten.as_strided.default(%t, [2, 2], [1, 1], 2)
    output user %w
  )"),
            "%t = aten.t.default(%x)\n"
            "%as_strided = aten.as_strided.default(%x, [2, 2], [1, 1], 2)\n"
            "output user %as_strided\n");
}

}  // namespace
}  // namespace unfuse::passes
