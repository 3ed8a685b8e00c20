// Arguments of a node: values of the graph, and everything else that an op's schema can take.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ir/dim.h"
#include "unfuse/dtype.h"

namespace unfuse {

class Value;

enum class MemoryFormat { kContiguous, kPreserve, kChannelsLast, kChannelsLast3d };
enum class Layout { kStrided, kSparseCoo, kOther };

std::string_view memory_format_name(MemoryFormat format);

struct Device {
  std::string text;  ///< "cpu", "cuda:0"
  bool operator==(const Device&) const = default;
};

/// What an argument position of a node holds. Ints are Dims, since any of them may be symbolic; a
/// list of tensors may hold null for an absent optional tensor.
class Argument {
 public:
  using Tensors = std::vector<Value*>;
  using Ints = std::vector<Dim>;
  using Floats = std::vector<double>;
  using Bools = std::vector<bool>;
  using Strings = std::vector<std::string>;
  using Variant = std::variant<std::monostate, Value*, Tensors, Dim, Ints, double, Floats, bool,
                               Bools, std::string, Strings, DType, Device, MemoryFormat, Layout>;

  Argument() = default;
  Argument(std::nullptr_t) {}  // NOLINT(google-explicit-constructor): these all convert
  Argument(Value* value) {     // NOLINT
    if (value != nullptr) held_ = value;
  }
  Argument(Dim value) : held_(std::move(value)) {}            // NOLINT
  Argument(int value) : held_(Dim(value)) {}                  // NOLINT
  Argument(std::int64_t value) : held_(Dim(value)) {}         // NOLINT
  Argument(double value) : held_(value) {}                    // NOLINT
  Argument(bool value) : held_(value) {}                      // NOLINT
  Argument(const char* value) : held_(std::string(value)) {}  // NOLINT
  Argument(std::string value) : held_(std::move(value)) {}    // NOLINT
  Argument(DType value) : held_(value) {}                     // NOLINT
  Argument(Device value) : held_(std::move(value)) {}         // NOLINT
  Argument(MemoryFormat value) : held_(value) {}              // NOLINT
  Argument(Layout value) : held_(value) {}                    // NOLINT
  Argument(Tensors value) : held_(std::move(value)) {}        // NOLINT
  Argument(Ints value) : held_(std::move(value)) {}           // NOLINT
  Argument(Floats value) : held_(std::move(value)) {}         // NOLINT
  Argument(Bools value) : held_(std::move(value)) {}          // NOLINT
  Argument(Strings value) : held_(std::move(value)) {}        // NOLINT
  static Argument ints(const std::vector<std::int64_t>& values);

  template <typename T>
  bool holds() const {
    return std::holds_alternative<T>(held_);
  }
  template <typename T>
  const T* get_if() const {
    return std::get_if<T>(&held_);
  }

  bool is_none() const { return holds<std::monostate>(); }
  bool is_value() const { return holds<Value*>(); }

  /// The accessors below throw Error (kInternal) when the argument holds something else.
  Value* value() const;          ///< never null
  Value* value_or_null() const;  ///< null for None
  const Tensors& tensors() const;
  const Dim& dim() const;
  std::int64_t integer() const;                ///< a constant int (bools count as 0 and 1)
  const Ints& dims() const;                    ///< an empty list for None is an error too
  std::vector<std::int64_t> integers() const;  ///< constant ints
  double number() const;                       ///< a float, or a constant int or bool, as double
  bool boolean() const;
  const std::string& string() const;
  DType dtype() const;
  /// True for a constant int that is not symbolic, a float, or a bool: a schema's Scalar.
  bool is_constant_scalar() const;

  const Variant& held() const { return held_; }
  /// Values that this argument refers to, in order; absent ones are left out.
  void collect_values(std::vector<Value*>& values) const;
  /// Replaces every reference to `from`. The owning Node keeps use lists true; do not call
  /// on a node's argument directly.
  void replace_value(Value* from, Value* to);
  /// The same kind and value. Floats are compared by their bits: NaN equals itself, 0 is not -0.
  bool operator==(const Argument& other) const;
  std::string to_string() const;

 private:
  Variant held_;
};

using Arguments = std::vector<Argument>;

}  // namespace unfuse
