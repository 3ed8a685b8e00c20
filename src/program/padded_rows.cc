#include "program/padded_rows.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

namespace unfuse {
namespace {

constexpr const char* kEncoder = "torch.nn.modules.transformer.TransformerEncoder";
constexpr const char* kLayer = "torch.nn.modules.transformer.TransformerEncoderLayer";

using ModuleClasses = std::map<std::string, std::string>;

/// "encoder.layers" of "encoder.layers.0".
std::string parent(const std::string& path) {
  const std::size_t dot = path.rfind('.');
  return dot == std::string::npos ? "" : path.substr(0, dot);
}

/// The innermost module of this class that the path leads to or through.
std::optional<std::string> enclosing(std::string path, const char* wanted,
                                     const ModuleClasses& classes) {
  while (true) {
    const auto found = classes.find(path);
    if (found != classes.end() && found->second == wanted) return path;
    if (path.empty()) return std::nullopt;
    path = parent(path);
  }
}

bool is_tensor(const Argument& argument, std::int64_t rank) {
  return argument.is_value() && argument.value()->is_tensor() && argument.value()->rank() == rank;
}

bool is_even(const Dim& dim) { return dim.constant().value_or(0) % 2 == 0; }

/// Of the op's fast path, which has most of the conditions of the encoder's.
bool takes_padding_alone(const Node& fused) {
  constexpr std::int64_t kPaddingMask = 1;
  const Argument& type = fused.argument("mask_type");
  return fused.argument("mask").is_value() && !type.is_none() && type.integer() == kPaddingMask &&
         !fused.argument("norm_first").boolean();
}

/// One layer whose attention is spelled out, as F.multi_head_attention_forward does it.
class SpelledLayer {
 public:
  /// In program order. `in_attention`: the node is self_attn's own.
  void add(const Node& node, bool in_attention) {
    if (first_) batch_first_ = in_attention && turns_batch(node);
    first_ = false;
    if (!in_attention) return;
    if (spreads_padding(node)) padding_ = true;
    // [1, L, S] + [B*H, 1, S]: the other mask is there, too.
    if (node.is("aten.add.Tensor") && is_tensor(node.argument(0), 3) &&
        is_tensor(node.argument(1), 3)) {
      other_mask_ = true;
    }
  }

  /// With norm_first, the norm's node would have been the first.
  bool takes_padding_alone() const { return batch_first_ && padding_ && !other_mask_; }

 private:
  /// [B, L, E] -> [L, B, E].
  static bool turns_batch(const Node& node) {
    return (node.is("aten.transpose.int") || node.is("aten.permute.default")) &&
           is_tensor(node.argument(0), 3);
  }
  /// [B, 1, 1, S] -> [B, H, 1, S] for an even H.
  static bool spreads_padding(const Node& node) {
    if (!node.is("aten.expand.default") || !is_tensor(node.argument(0), 4)) return false;
    const std::vector<Dim>& sizes = node.input(0)->sizes();
    return sizes[1] == Dim(1) && sizes[2] == Dim(1) && is_even(node.result()->size(1));
  }

  bool first_ = true;
  bool batch_first_ = false;
  bool padding_ = false;
  bool other_mask_ = false;
};

const char* what_becomes_of_them(PaddedRows rows) {
  switch (rows) {
    case PaddedRows::kCompiled:
      return "compiled code computes them (option padded_rows=\"zero\" gives the zeros)";
    case PaddedRows::kZero:
      return "and so does this graph";
    case PaddedRows::kExported:
      return "the exported graph computes them (a file does not tell whether enable_nested_tensor "
             "was on, as it is by default)";
  }
  return "";
}

}  // namespace

std::string padded_rows_note(const std::string& encoder, PaddedRows rows) {
  return (encoder.empty() ? "the model" : encoder) +
         ": with a left-aligned padding mask eager's nested tensors give zeros at padded rows, " +
         what_becomes_of_them(rows);
}

std::vector<std::string> padded_rows_notes(const pt2::ExportedProgram& program) {
  const ModuleClasses& classes = program.module_classes;
  std::vector<std::string> encoders;
  const auto note = [&](const std::string& layer) {
    const auto encoder = enclosing(parent(layer), kEncoder, classes);
    if (!encoder || std::find(encoders.begin(), encoders.end(), *encoder) != encoders.end()) return;
    encoders.push_back(*encoder);
  };
  std::map<std::string, SpelledLayer> spelled;
  for (const Node* node : program.graph.nodes()) {
    const std::string& path = node->origin().module_path;
    const auto layer = enclosing(path, kLayer, classes);
    if (!layer) continue;
    if (node->is("aten._transformer_encoder_layer_fwd.default")) {
      if (takes_padding_alone(*node)) note(*layer);
    } else {
      spelled[*layer].add(*node, path == *layer + ".self_attn");
    }
  }
  for (const auto& [layer, seen] : spelled) {
    if (seen.takes_padding_alone()) note(layer);
  }
  std::vector<std::string> notes;
  for (const std::string& encoder : encoders) {
    notes.push_back(padded_rows_note(encoder, PaddedRows::kExported));
  }
  return notes;
}

}  // namespace unfuse
