#include "cli/matching.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "unfuse/error.h"

namespace unfuse::cli {
namespace {

using tensor_io::NamedTensors;

bool is_numbered(const NamedTensors& given) {
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (tensor_io::find(given, fmt::format("arr_{}", i)) == nullptr) return false;
  }
  return !given.empty();
}

[[noreturn]] void refuse(const std::string& message, const std::string& file,
                         const std::vector<TensorInfo>& wanted, const std::string& what) {
  std::vector<std::string> names;
  for (const TensorInfo& info : wanted) names.push_back(info.name);
  throw Error(ErrorKind::kInvalidArgument, message, file,
              fmt::format("the model's {}s are: {}", what, fmt::join(names, ", ")));
}

std::vector<Tensor> match_by_number(const std::vector<TensorInfo>& wanted,
                                    const NamedTensors& given, const std::string& file,
                                    const std::string& what) {
  if (given.size() != wanted.size()) {
    refuse(fmt::format("holds {} unnamed arrays for {} {}s", given.size(), wanted.size(), what),
           file, wanted, what);
  }
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    tensors.push_back(*tensor_io::find(given, fmt::format("arr_{}", i)));
  }
  return tensors;
}

}  // namespace

std::vector<Tensor> match_tensors(const std::vector<TensorInfo>& wanted, const NamedTensors& given,
                                  const std::string& file, const std::string& what) {
  std::vector<Tensor> tensors;
  std::vector<std::string> missing;
  std::set<std::string> known;
  for (const TensorInfo& info : wanted) {
    known.insert(info.name);
    const Tensor* tensor = tensor_io::find(given, info.name);
    if (tensor == nullptr) {
      missing.push_back(info.name);
    } else {
      tensors.push_back(*tensor);
    }
  }
  if (!missing.empty()) {
    if (is_numbered(given)) return match_by_number(wanted, given, file, what);
    refuse(fmt::format("holds no tensor for the {} {}", what, fmt::join(missing, ", ")), file,
           wanted, what);
  }
  for (const auto& named : given) {
    if (known.count(named.name) > 0) continue;
    refuse(fmt::format("holds '{}', which is no {} of the model", named.name, what), file, wanted,
           what);
  }
  return tensors;
}

}  // namespace unfuse::cli
