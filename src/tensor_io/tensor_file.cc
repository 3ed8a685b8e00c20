#include "tensor_io/tensor_file.h"

#include <set>

#include "tensor_io/npz.h"
#include "tensor_io/safetensors.h"
#include "unfuse/error.h"

namespace unfuse::tensor_io {
namespace {

void check_names_differ(const std::string& path, const NamedTensors& tensors) {
  std::set<std::string_view> seen;
  for (const NamedTensor& named : tensors) {
    if (seen.insert(named.name).second) continue;
    throw Error(ErrorKind::kInvalidArgument, "two tensors are named '" + named.name + "'", path);
  }
}

}  // namespace

Format format_of(const std::string& path) {
  const std::string_view view = path;
  if (view.ends_with(".safetensors")) return Format::kSafetensors;
  if (view.ends_with(".npz")) return Format::kNpz;
  throw Error(ErrorKind::kInvalidArgument, "a file of tensors ends in .safetensors or .npz", path);
}

NamedTensors read(const std::string& path) {
  return format_of(path) == Format::kNpz ? read_npz(path) : read_safetensors(path);
}

void write(const std::string& path, const NamedTensors& tensors) {
  const Format format = format_of(path);
  check_names_differ(path, tensors);
  if (format == Format::kNpz) return write_npz(path, tensors);
  write_safetensors(path, tensors);
}

const Tensor* find(const NamedTensors& tensors, std::string_view name) {
  for (const NamedTensor& named : tensors) {
    if (named.name == name) return &named.tensor;
  }
  return nullptr;
}

}  // namespace unfuse::tensor_io
