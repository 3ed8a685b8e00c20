#include "onnx/model.h"

#include "unfuse/error.h"

namespace unfuse::onnx {

int ir_version(int opset) {
  constexpr int kVersions[] = {8, 8, 9, 9, 10, 10, 11, 12, 13, 13, 13, 14};
  static_assert(std::size(kVersions) == kNewestOpset - kOldestOpset + 1);
  return kVersions[opset - kOldestOpset];
}

int data_type(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return 1;
    case DType::kUInt8:
      return 2;
    case DType::kInt8:
      return 3;
    case DType::kUInt16:
      return 4;
    case DType::kInt16:
      return 5;
    case DType::kInt32:
      return 6;
    case DType::kInt64:
      return 7;
    case DType::kBool:
      return 9;
    case DType::kFloat16:
      return 10;
    case DType::kFloat64:
      return 11;
    case DType::kUInt32:
      return 12;
    case DType::kUInt64:
      return 13;
    case DType::kComplex64:
      return 14;
    case DType::kComplex128:
      return 15;
    case DType::kBFloat16:
      return 16;
    case DType::kFloat8E4M3FN:
      return 17;
    case DType::kFloat8E4M3FNUZ:
      return 18;
    case DType::kFloat8E5M2:
      return 19;
    case DType::kFloat8E5M2FNUZ:
      return 20;
    case DType::kFloat8E8M0FNU:
      return 24;
    case DType::kComplex32:
      break;
  }
  throw Error(ErrorKind::kUnsupported, "ONNX has no type " + std::string(dtype_name(dtype)));
}

}  // namespace unfuse::onnx
