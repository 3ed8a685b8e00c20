// Rows that padding fills go through nothing at all, where they make no difference:
//
//   %offsets, %sources, %places = unfuse.packed_rows(%kept)     which rows of [batch, length] there
//   %packed = unfuse.pack_rows(%x, %offsets, %sources)          these first, and nothing behind
//   ... linear layers, norms, pointwise ops as before ...       the first offsets[batch] rows
//   ... unfuse.packed_attention(%q, %k, %v, %offsets) ...       between the offsets of a sequence
//   %y = unfuse.unpack_rows(%packed_y, %places)                 zeros where a row was left out
//
// Types stay as they were: a packed value has room for all rows, of which some are not filled. So
// whatever does with each row the same does it with packed rows, too, whether its kernel knows how
// many there are or not; those that cost most do know, and stop.
//
// A region of such nodes ends where rows that are masked are multiplied by zero or filled over, or
// where the first row is taken. All others that would look at a row in it keep the rows as they
// are. Kept are rows that some reader wants, and keys that attention sees. Where there are more
// rows than keys, attention still gets a mask, packed like the rest: a padded first row, or
// sequences that a run-time condition keeps whole.
//
// What a padded row holds is gone, NaN and infinity too, which PyTorch multiplies by zero.
#include <algorithm>
#include <functional>
#include <string>
#include <unordered_map>

#include "ops/catalogue.h"
#include "passes/canonical.h"
#include "targets/cpu/fusion/fusion.h"
#include "targets/cpu/fusion/matching.h"
#include "targets/cpu/fusion/padded_region.h"
#include "targets/cpu/prepared_values.h"

namespace unfuse::cpu {
namespace {

class RowPacking {
 public:
  RowPacking(Graph& graph, const PaddedRegion& region) : graph_(graph), region_(region) {
    int position = 0;
    for (const Node* node : graph.nodes()) position_[node] = position++;
  }

  /// Whether the masks can be worked out ahead of the region.
  bool is_possible() {
    if (!can_be_placed(region_.visible().root)) return false;
    return std::all_of(region_.sinks().begin(), region_.sinks().end(), [&](const RowSink& sink) {
      return !sink.wanted || can_be_placed(sink.wanted->root);
    });
  }

  void apply() {
    Builder builder(graph_, region_.nodes().front());
    decide_rows(builder);
    for (Node* node : region_.nodes()) pack_operands(node);
    for (Node* attention : region_.attentions()) rewrite_attention(attention);
    for (const RowSink& sink : region_.sinks()) unpack(sink);
  }

 private:
  bool stands_before(const Value* value) const {
    return value->producer() == nullptr ||
           position_.at(value->producer()) < position_.at(region_.nodes().front());
  }

  /// Whether the value is there before the region, or can be computed again there.
  bool can_be_placed(const Value* value) const {
    if (stands_before(value)) return true;
    const Node* node = value->producer();
    if (region_.contains(node) || node->op().traits.random || node->results().size() != 1) {
      return false;
    }
    const std::vector<Value*> operands = node->operands();
    return std::all_of(operands.begin(), operands.end(),
                       [&](const Value* operand) { return can_be_placed(operand); });
  }

  Value* placed(Value* value) {
    if (stands_before(value)) return value;
    Value*& copy = placed_[value];
    if (copy != nullptr) return copy;
    const Node* node = value->producer();
    Arguments arguments = node->arguments();
    for (Value* operand : node->operands()) {
      Value* before = placed(operand);
      for (Argument& argument : arguments) argument.replace_value(operand, before);
    }
    Node* made = graph_.create_node(node->op(), std::move(arguments), {value->type()},
                                    region_.nodes().front(), value->name());
    made->set_origin(node->origin());
    return placed_[value] = made->result();
  }

  Value* build(Builder& builder, const RowPredicate& predicate) {
    return predicate.build(builder, placed(predicate.root), region_.rows());
  }

  /// Whether this reader needs a row of sequences without any key: NaN is its result.
  bool wants_first_row(const RowSink& sink) const {
    if (!sink.wanted) return true;
    return sink.lets_nan_through &&
           std::any_of(region_.attentions().begin(), region_.attentions().end(),
                       [](const Node* attention) {
                         return !attention->argument("zero_fully_masked").boolean();
                       });
  }

  void decide_rows(Builder& builder) {
    const RowPredicate& visible = region_.visible();
    std::vector<RowPredicate> wanted = {visible};
    bool wants_first = false;
    for (const RowSink& sink : region_.sinks()) {
      wants_first = wants_first || wants_first_row(sink);
      if (!sink.wanted) continue;
      if (std::find(wanted.begin(), wanted.end(), *sink.wanted) == wanted.end()) {
        wanted.push_back(*sink.wanted);
      }
    }
    const bool has_wider =
        std::any_of(wanted.begin() + 1, wanted.end(),
                    [&](const RowPredicate& p) { return is_implied(p, visible, region_.rows()); });
    if (has_wider) wanted.erase(wanted.begin());
    Value* kept = nullptr;
    for (const RowPredicate& predicate : wanted) {
      Value* rows = build(builder, predicate);
      kept = kept == nullptr ? rows : either(builder, kept, rows);
    }
    if (wants_first) kept = either(builder, kept, first_rows(builder));
    if (wanted.size() == 1 && !wants_first) only_wanted_ = wanted.front();
    make_packed_rows(kept);
    if (wanted.size() > 1 || has_wider || wants_first || visible.is_added) {
      Value* mask = visible.is_added
                        ? passes::reshape(builder, placed(visible.root),
                                          {region_.rows().batch, region_.rows().length})
                        : build(builder, visible);
      Value* keys = pack(mask, region_.nodes().front());
      keys_ = passes::reshape(builder, keys, {region_.rows().batch, 1, 1, region_.rows().length});
    }
  }

  static Value* either(Builder& builder, Value* left, Value* right) {
    return passes::call(builder, "aten.logical_or.default", {left, right});
  }

  /// [length]: true for the first one.
  Value* first_rows(Builder& builder) const {
    Value* numbers =
        passes::call(builder, "aten.arange.start_step", {Dim(0), region_.rows().length, Dim(1)},
                     {{"dtype", DType::kInt64}});
    return passes::call(builder, "aten.eq.Scalar", {numbers, 0});
  }

  static TensorType indices(const Dim& count) {
    TensorType type;
    type.dtype = DType::kInt64;
    type.sizes = {count};
    type.strides = {1};
    return type;
  }

  void make_packed_rows(Value* kept) {
    const RowSizes& rows = region_.rows();
    const Dim count = rows.batch * rows.length;
    Node* made = graph_.create_node(ops::get("unfuse.packed_rows"), {kept},
                                    {indices(rows.batch + 1), indices(count), indices(count)},
                                    region_.nodes().front());
    made->set_origin(region_.attentions().front()->origin());
    offsets_ = made->result(0);
    sources_ = made->result(1);
    places_ = made->result(2);
  }

  static TensorType contiguous(const TensorType& type) {
    TensorType made = type;
    Dim stride(1);
    for (std::size_t i = made.sizes.size(); i-- > 0;) {
      made.strides[i] = stride;
      stride *= made.sizes[i];
    }
    made.storage_offset = 0;
    return made;
  }

  Value* pack(Value* value, Node* before) {
    Node* made =
        graph_.create_node(ops::get("unfuse.pack_rows"), {value, offsets_, sources_},
                           {contiguous(value->tensor())}, before, value->name() + "_packed");
    made->set_origin(before->origin());
    return made->result();
  }

  void pack_operands(Node* node) {
    for (const int index : region_.row_arguments(*node)) {
      Value* value = node->input(index);
      if (region_.contains(value->producer())) continue;
      Value*& packed = packed_[value];
      if (packed == nullptr) packed = pack(value, node);
      graph_.set_argument(node, index, packed);
    }
  }

  void rewrite_attention(Node* node) {
    replace_by_node(graph_, node, "unfuse.packed_attention",
                    {node->argument(0), node->argument(1), node->argument(2), offsets_, keys_,
                     node->argument("scale"), node->argument("is_causal"),
                     node->argument("zero_fully_masked"), node->argument("products")},
                    node->origin());
  }

  void unpack(const RowSink& sink) {
    Value* value = sink.value();
    Value*& unpacked = unpacked_[value];
    if (unpacked == nullptr) {
      Node* made =
          graph_.create_node(ops::get("unfuse.unpack_rows"), {value, places_},
                             {contiguous(value->tensor())}, sink.node, value->name() + "_unpacked");
      made->set_origin(sink.node->origin());
      unpacked = made->result();
    }
    const bool fills_zeros = sink.node->is("aten.masked_fill.Scalar") &&
                             sink.node->argument("value").is_constant_scalar() &&
                             sink.node->argument("value").number() == 0 && only_wanted_ &&
                             sink.wanted == only_wanted_;
    if (fills_zeros) {
      replace_by(graph_, sink.node, unpacked);
    } else {
      graph_.set_argument(sink.node, sink.argument, unpacked);
    }
  }

  Graph& graph_;
  const PaddedRegion& region_;
  std::unordered_map<const Node*, int> position_;
  std::unordered_map<Value*, Value*> placed_;
  std::unordered_map<Value*, Value*> packed_;
  std::unordered_map<Value*, Value*> unpacked_;
  /// What says of all rows whether they are kept, where that is one thing.
  std::optional<RowPredicate> only_wanted_;
  Value* offsets_ = nullptr;
  Value* sources_ = nullptr;
  Value* places_ = nullptr;
  Value* keys_ = nullptr;  ///< null where every packed row is a key
};

std::string note_of(const PaddedRegion& region, std::size_t attentions) {
  const std::string& path = region.sinks().front().node->origin().module_path;
  return "padded tokens go through nothing in " + std::to_string(attentions) +
         (attentions == 1 ? " attention layer" : " attention layers") +
         " and what is around them: they make no difference to what " +
         region.sinks().front().node->op().name + (path.empty() ? "" : " at " + path) + " gives";
}

}  // namespace

std::vector<std::string> pack_padded_rows(Graph& graph) {
  std::vector<std::string> notes;
  bool is_done = false;
  while (!is_done) {
    is_done = true;
    const auto prepared = prepared_values(graph);
    for (Node* node : graph.nodes()) {
      if (!node->is("unfuse.attention")) continue;
      const auto rows = row_sizes(*node);
      if (!rows || !visible_keys(*node, *rows)) continue;
      const PaddedRegion region(graph, prepared, *node);
      if (!region.has_attention()) continue;
      RowPacking packing(graph, region);
      if (!packing.is_possible()) continue;
      notes.push_back(note_of(region, region.attentions().size()));
      packing.apply();
      is_done = false;  // the nodes are others now
      break;
    }
  }
  return notes;
}

}  // namespace unfuse::cpu
