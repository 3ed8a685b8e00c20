#include "program/padded_rows.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

#include "passes/canonical.h"
#include "unfuse/error.h"

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
    if (!node.results().empty()) result_ = node.result(0);
    if (!in_attention) return;
    if (spreads_padding(node)) {
      padding_ = node.input(0);
      ++calls_;
    }
    // [1, L, S] + [B*H, 1, S]: the other mask is there, too.
    if (node.is("aten.add.Tensor") && is_tensor(node.argument(0), 3) &&
        is_tensor(node.argument(1), 3)) {
      other_mask_ = true;
    }
  }

  /// With norm_first, the norm's node would have been the first.
  bool takes_padding_alone() const { return batch_first_ && padding_ != nullptr && !other_mask_; }
  Value* padding() const { return padding_; }  ///< [B, 1, 1, S], of the last call
  Value* result() const { return result_; }    ///< of the last call
  int calls() const { return calls_; }

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
  bool other_mask_ = false;
  Value* padding_ = nullptr;
  Value* result_ = nullptr;
  int calls_ = 0;
};

/// A layer of an encoder that eager runs with nested tensors.
struct PaddedLayer {
  std::string path, encoder;
  Value* padding;  ///< not zero where a row is dropped, [B, S] but for dims of size 1
  Value* result;   ///< [B, S, E]
  int calls = 1;   ///< that `result` is the last of
};

std::vector<PaddedLayer> find_padded_layers(const pt2::ExportedProgram& program) {
  const ModuleClasses& classes = program.module_classes;
  std::vector<PaddedLayer> layers;
  const auto add = [&](const std::string& layer, Value* padding, Value* result, int calls) {
    const auto encoder = enclosing(parent(layer), kEncoder, classes);
    if (encoder) layers.push_back({layer, *encoder, padding, result, calls});
  };
  std::map<std::string, SpelledLayer> spelled;
  for (const Node* node : program.graph.nodes()) {
    const std::string& path = node->origin().module_path;
    const auto layer = enclosing(path, kLayer, classes);
    if (!layer) continue;
    if (!node->is("aten._transformer_encoder_layer_fwd.default")) {
      spelled[*layer].add(*node, path == *layer + ".self_attn");
    } else if (takes_padding_alone(*node)) {
      add(*layer, node->argument("mask").value(), node->result(0), 1);
    }
  }
  for (const auto& [layer, seen] : spelled) {
    if (seen.takes_padding_alone()) add(layer, seen.padding(), seen.result(), seen.calls());
  }
  return layers;
}

/// Eager puts the padded rows back behind the last layer.
bool is_last(const PaddedLayer& layer, const ModuleClasses& classes) {
  return std::ranges::none_of(layer.result->uses(), [&](const Use& use) {
    const std::string& path = use.node->origin().module_path;
    const auto next = enclosing(path, kLayer, classes);
    return next && *next != layer.path &&
           enclosing(parent(*next), kEncoder, classes) == layer.encoder;
  });
}

void zero_rows(Graph& graph, const PaddedLayer& layer) {
  using namespace passes;
  Node* producer = layer.result->producer();
  Builder builder(graph, producer->next());
  builder.set_origin(producer->origin());
  const Dim batch = layer.result->size(0);
  const Dim length = layer.result->size(1);
  Value* padded = call(builder, "aten.ne.Scalar", {layer.padding, 0});
  if (padded->rank() != 2) padded = reshape(builder, padded, {batch, length});
  // Else eager takes another path.
  Value* earlier = slice(builder, padded, 1, 0, length - 1);
  Value* later = slice(builder, padded, 1, 1, length);
  Value* at_the_end =
      call(builder, "aten.all.default", {call(builder, "aten.le.Tensor", {earlier, later})});
  padded = call(builder, "aten.logical_and.default", {padded, at_the_end});
  Value* zeroed =
      call(builder, "aten.masked_fill.Scalar", {layer.result, unsqueeze(builder, padded, 2), 0});
  graph.replace_all_uses(layer.result, zeroed);
  graph.set_argument(zeroed->producer(), 0, layer.result);
}

const char* what_becomes_of_them(PaddedRowsOf graph) {
  switch (graph) {
    case PaddedRowsOf::kCompiled:
      return "compiled code computes them (option padded_rows=\"zero\" gives the zeros)";
    case PaddedRowsOf::kExported:
      return "the exported graph computes them (padded_rows=\"zero\" gives the zeros; a file does "
             "not tell whether enable_nested_tensor was on, as it is by default)";
    case PaddedRowsOf::kZeroed:
      return "and so does this graph";
  }
  return "";
}

std::vector<std::string> notes(const std::vector<PaddedLayer>& layers, PaddedRowsOf graph) {
  std::vector<std::string> notes;
  for (const PaddedLayer& layer : layers) {
    std::string note = padded_rows_note(layer.encoder, graph);
    if (std::ranges::find(notes, note) == notes.end()) notes.push_back(std::move(note));
  }
  return notes;
}

}  // namespace

std::string padded_rows_note(const std::string& encoder, PaddedRowsOf graph) {
  return (encoder.empty() ? "the model" : encoder) +
         ": with a left-aligned padding mask eager's nested tensors give zeros at padded rows, " +
         what_becomes_of_them(graph);
}

std::vector<std::string> padded_rows_notes(const pt2::ExportedProgram& program) {
  return notes(find_padded_layers(program), PaddedRowsOf::kExported);
}

std::vector<std::string> zero_padded_rows(pt2::ExportedProgram& program) {
  const std::vector<PaddedLayer> layers = find_padded_layers(program);
  for (const PaddedLayer& layer : layers) {
    if (!is_last(layer, program.module_classes)) continue;
    if (layer.calls > 1) {
      throw Error(ErrorKind::kUnsupported,
                  "the encoder is called more than once: where its padded rows become zero cannot "
                  "be told from a graph that spells its layers out",
                  layer.encoder, "export it under torch.no_grad() with strict=True");
    }
    zero_rows(program.graph, layer);
  }
  return notes(layers, PaddedRowsOf::kZeroed);
}

}  // namespace unfuse
