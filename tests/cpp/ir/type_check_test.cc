#include "ir/type_check.h"

#include <gtest/gtest.h>

#include "unfuse/error.h"

namespace unfuse {
namespace {

// As long and as wide as both arguments must be.
std::vector<Type> same_as_both(const Arguments& arguments) {
  const TensorType& left = arguments[0].value()->tensor();
  const TensorType& right = arguments[1].value()->tensor();
  for (std::size_t i = 0; i < left.sizes.size(); ++i) {
    if (equal(left.sizes[i], right.sizes[i]) == Answer::kNo) {
      throw Error(ErrorKind::kInvalidArgument, "sizes differ");
    }
  }
  return {left};
}

class TypeCheck : public ::testing::Test {
 protected:
  TypeCheck() {
    op_.name = "test.both.default";
    op_.schema = parse_schema("(Tensor left, Tensor right) -> Tensor");
    op_.id = 0;
    op_.result_types = same_as_both;
  }

  Value* input(const Dim& size) {
    return graph_.add_input("x", TensorType::contiguous(DType::kFloat32, {size}), {});
  }

  Node* node(const Dim& left, const Dim& right, const Dim& result, DType dtype = DType::kFloat32) {
    return graph_.create_node(op_, {input(left), input(right)},
                              {TensorType::contiguous(dtype, {result})});
  }

  Graph graph_;
  Op op_;
  const Dim s0_ = Dim::symbol("s0");
  const Dim s1_ = Dim::symbol("s1");
};

TEST_F(TypeCheck, AcceptsWhatFits) {
  EXPECT_NO_THROW(check_types(*node(4, 4, 4), {}));
  EXPECT_NO_THROW(check_types(*node(s0_, s0_, s0_), {}));
}

TEST_F(TypeCheck, RefusesContradictions) {
  EXPECT_THROW(check_types(*node(4, 4, 5), {}), Error);
  EXPECT_THROW(check_types(*node(4, 5, 4), {}), Error);
  EXPECT_THROW(check_types(*node(s0_, s0_, s0_ + Dim(1)), {}), Error);
  EXPECT_THROW(check_types(*node(4, 4, 4, DType::kFloat64), {}), Error);
  EXPECT_THROW(check_types(*node(s0_, s0_, 9), {{"s0", {1, 8}}}), Error);
}

TEST_F(TypeCheck, WhatDependsOnSymbolsIsCheckedWithTheirValues) {
  const Node* different = node(s0_, s1_, s1_);
  EXPECT_NO_THROW(check_types(*different, {}));
  const SymbolValues equal_values = {{"s0", 3}, {"s1", 3}};
  EXPECT_NO_THROW(SizeChecker(equal_values).check(*different));
  const SymbolValues other_values = {{"s0", 3}, {"s1", 4}};
  EXPECT_THROW(SizeChecker(other_values).check(*different), Error);
  EXPECT_THROW(SizeChecker(other_values).check(*node(s0_, s0_, s1_)), Error);
  const SymbolValues too_few = {{"s0", 3}};
  EXPECT_THROW(SizeChecker(too_few).check(*different), Error);
}

TEST_F(TypeCheck, SymbolsOfStridesAloneNeedNoValue) {
  TensorType apart = TensorType::contiguous(DType::kFloat32, {s0_});
  apart.strides[0] = s1_;
  apart.storage_offset = Dim::symbol("s2");
  Value* left = graph_.add_input("left", apart, {});
  const Node* both =
      graph_.create_node(op_, {left, input(s0_)}, {TensorType::contiguous(DType::kFloat32, {s0_})});
  const SymbolValues values = {{"s0", 3}};
  EXPECT_NO_THROW(SizeChecker(values).check(*both));
}

TEST_F(TypeCheck, ATargetsKernelsMayWriteOtherDTypes) {
  const SymbolValues values = {{"s0", 3}};
  EXPECT_NO_THROW(SizeChecker(values).check(*node(s0_, s0_, s0_, DType::kFloat64)));
}

TEST_F(TypeCheck, WhatARuleCannotTellIsKeptAsRecordedAndNotComputed) {
  op_.result_types = [](const Arguments&) -> std::vector<Type> {
    throw Error(ErrorKind::kUnsupported, "as many as there are true elements");
  };
  const Node* selected = node(4, 4, s0_);
  EXPECT_NO_THROW(check_types(*selected, {}));
  const SymbolValues values = {{"s0", 3}};
  try {
    SizeChecker(values).check(*selected);
    FAIL() << "kernels would trust a size that nobody checked";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
  }
}

TEST_F(TypeCheck, OpsWithoutARulePass) {
  op_.result_types = nullptr;
  EXPECT_NO_THROW(check_types(*node(4, 5, 6), {}));
  const SymbolValues values;
  EXPECT_NO_THROW(SizeChecker(values).check(*node(4, 5, 6)));
}

}  // namespace
}  // namespace unfuse
