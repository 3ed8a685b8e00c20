#include "ops/catalogue.h"

#include <gtest/gtest.h>

#include "unfuse/error.h"

namespace unfuse::ops {
namespace {

TEST(Catalogue, IdsAreDense) {
  const std::span<const Op> all = catalogue();
  ASSERT_GT(all.size(), 300u);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].id, static_cast<OpId>(i));
    EXPECT_EQ(find(all[i].name), &all[i]);
  }
}

TEST(Catalogue, FindsByName) {
  EXPECT_EQ(find("aten.nobody.default"), nullptr);
  EXPECT_THROW(get("aten.nobody.default"), Error);
  EXPECT_EQ(get("aten.add.Tensor").name, "aten.add.Tensor");
  EXPECT_TRUE(get("aten.add.Tensor").traits.pointwise);
  EXPECT_TRUE(get("aten._native_multi_head_attention.default").traits.fused);
  EXPECT_EQ(get("unfuse.attention").schema.index_of("zero_fully_masked"), 6);
}

TEST(Catalogue, EveryRowHasAResultOrAnEffect) {
  for (const Op& op : catalogue()) {
    const bool asserts = op.name.find("assert") != std::string::npos ||
                         op.name.find("constrain") != std::string::npos;
    EXPECT_TRUE(!op.schema.returns.empty() || asserts) << op.name;
  }
}

}  // namespace
}  // namespace unfuse::ops
