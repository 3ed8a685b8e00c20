#include "pt2/written_names.h"

namespace unfuse::pt2 {

void WrittenNames::define(const std::string& name, const Meaning& meaning) {
  scope_.define(name, meaning);
  if (const Dim* number = std::get_if<Dim>(&meaning); number && !number->is_constant()) {
    numbers_.emplace(number->to_string(), name);
  }
  if (Value* const* value = std::get_if<Value*>(&meaning)) values_.emplace(*value, name);
}

void WrittenNames::define_value(const std::string& name, Value* value) {
  if (const auto* number = std::get_if<IntType>(&value->type())) {
    define(name, number->value);
    values_.emplace(value, name);
    return;
  }
  define(name, value);
  const auto* tensor = std::get_if<TensorType>(&value->type());
  if (tensor == nullptr) return;
  for (std::size_t i = 0; i < tensor->sizes.size(); ++i) {
    const Dim& size = tensor->sizes[i];
    if (!size.is_constant()) {
      extents_.emplace(size.to_string(), std::pair{size, Extent{name, i}});
    }
  }
}

std::string WrittenNames::unused(const std::string& wanted) const {
  std::string name = wanted;
  for (int i = 1; known(name); ++i) name = wanted + "_" + std::to_string(i);
  return name;
}

std::optional<std::string> WrittenNames::name_of(const Value* value) const {
  const auto found = values_.find(value);
  if (found == values_.end()) return std::nullopt;
  return found->second;
}

std::optional<std::string> WrittenNames::name_of(const Dim& size) const {
  const auto found = numbers_.find(size.to_string());
  if (found == numbers_.end()) return std::nullopt;
  return found->second;
}

std::optional<WrittenNames::Extent> WrittenNames::extent_of(const Dim& size) const {
  const auto found = extents_.find(size.to_string());
  if (found == extents_.end()) return std::nullopt;
  return found->second.second;
}

}  // namespace unfuse::pt2
