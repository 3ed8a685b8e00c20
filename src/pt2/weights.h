// Weights and constants of an archive, as tensors in its mapping.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "ir/graph.h"
#include "pt2/archive.h"
#include "pt2/json_reading.h"

namespace unfuse::pt2 {

/// Finds the elements of parameters, buffers and lifted constants.
class Weights {
 public:
  /// Reads both configurations of `model`. `archive` must outlive this.
  /// Throws Error (kInvalidFile) when one is missing or is no JSON.
  Weights(const Archive& archive, const std::string& model);

  /// Gives every parameter, buffer and constant of the graph its data, and its type the strides
  /// that the data has. Tensors that share a storage in the file share memory, and
  /// Tensor::storage() is then the same pointer: the storage's first byte. What the mapping holds
  /// at an address that elements cannot be read from (in archives that torch did not write) is
  /// copied, a storage at a time.
  /// Throws Error (kInvalidFile) when one has no data in the archive, has it pickled, or has less
  /// than its type needs. Inputs that hold pickles are removed instead when nobody uses them.
  void attach(Graph& graph);

 private:
  struct Payload {
    std::string folder;  ///< "data/weights/"
    Json meta;
  };
  struct Storage {
    std::shared_ptr<void> begin;
    std::uint64_t size = 0;
  };

  Payload find(const GraphInput& input) const;
  std::optional<Payload> find_in(const JsonDocument& config, const std::string& folder,
                                 const std::string& target) const;
  void attach_input(Graph& graph, std::size_t index);
  Tensor read(const Payload& payload, const TensorType& type);
  const Storage& storage(const std::string& member);

  const Archive* archive_;
  JsonDocument weights_;
  JsonDocument constants_;
  std::map<std::string, Storage> storages_;  // by member
};

}  // namespace unfuse::pt2
