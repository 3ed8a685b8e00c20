// An ONNX model in memory: what ModelProto holds, in the words of the ONNX specification.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "ir/graph.h"
#include "unfuse/dtype.h"
#include "unfuse/tensor.h"

namespace unfuse::onnx {

/// LayerNormalization came with 17, and nothing below it is worth the spelling.
inline constexpr int kOldestOpset = 17;
inline constexpr int kNewestOpset = 28;
/// What is taken when nobody asks: tools of today know it, and it has Gelu.
inline constexpr int kDefaultOpset = 20;

/// The oldest version of the file format that an opset may come in.
int ir_version(int opset);

/// TensorProto.DataType. Throws Error (kUnsupported) for a dtype that ONNX lacks.
int data_type(DType dtype);

struct Attribute {
  std::string name;
  std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>, std::vector<float>>
      value;
};

struct ModelNode {
  std::string op;
  std::string name;
  std::vector<std::string> inputs;  ///< "" for an optional one that is left out
  std::vector<std::string> outputs;
  std::vector<Attribute> attributes;
  Origin origin;
};

struct ValueInfo {
  std::string name;
  DType dtype = DType::kFloat32;
  /// Fixed sizes are constant; others are written as the name of the dimension.
  std::vector<Dim> sizes;
};

struct Initializer {
  std::string name;
  Tensor data;  ///< any strides
};

struct Model {
  int opset = kDefaultOpset;
  std::string name;
  std::vector<ModelNode> nodes;
  std::vector<Initializer> initializers;
  std::vector<ValueInfo> inputs;
  std::vector<ValueInfo> outputs;
  /// Of values in between.
  std::vector<ValueInfo> values;
  std::vector<std::pair<std::string, std::string>> metadata;
};

}  // namespace unfuse::onnx
