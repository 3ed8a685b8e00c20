#include "targets/cpu/kernels/pointwise.h"

#include <algorithm>
#include <memory>

#include "targets/cpu/kernels/loop_nest.h"
#include "targets/cpu/kernels/pointwise_schedule.h"
#include "targets/cpu/kernels/tile_io.h"
#include "targets/cpu/parallel.h"
#include "targets/cpu/rounding.h"

namespace unfuse::cpu {
namespace {

constexpr const char* kName = "pointwise";
/// Elements a tile: registers of a program should stay in the first-level cache.
constexpr std::int64_t kTile = 512;
/// Below this many element operations a second thread costs more than it brings.
constexpr std::int64_t kMinimumWork = 32768;

/// Where a tile lies in the nest: `rows` rows from `row` on, and of each `columns` elements from
/// `column` on. More than one row means whole rows.
struct TileRange {
  std::int64_t row, rows, column, columns;
  std::int64_t count() const { return rows * columns; }
};

/// An input, a coordinate or an output as it is walked.
struct Operand {
  LoadFunction load = nullptr;    // null for coordinates and outputs
  StoreFunction store = nullptr;  // outputs only
  std::int64_t element_bytes = 0;
  bool is_dense = false;    // rows follow each other without gaps
  bool is_natural = false;  // memory holds what the register holds
  bool may_alias = false;   // goes straight to an output: its register must be a copy
  bool is_uniform = false;  // one element for all
};

class PointwiseKernel final : public Kernel {
 public:
  explicit PointwiseKernel(const PointwiseSpec& spec);

  std::size_t scratch_bytes() const override {
    return static_cast<std::size_t>(threads_) * thread_bytes_;
  }
  void run(std::span<void* const> operands, std::byte* scratch) const override;

 private:
  /// What one thread works with.
  struct Workspace {
    std::span<void* const> memory;  // inputs, then outputs
    std::byte* tiles;
    void** registers;  // where each is for the current tile
  };

  std::size_t input_count() const { return spec_.inputs.size(); }
  std::size_t first_output() const { return operands_.size() - spec_.outputs.size(); }

  void add_operands();
  void choose_tiles();
  std::int64_t tiles_of(std::int64_t elements) const;
  TileRange range_of(std::int64_t tile) const;
  std::byte* slot(const Workspace& workspace, int reg) const;
  std::byte* direct_memory(std::size_t operand, void* memory, const TileRange& range) const;
  void fill_constants(const Workspace& workspace) const;
  void load(const Workspace& workspace, const LoadStep& step, const TileRange& range) const;
  void load_coordinate(const LoadStep& step, const TileRange& range, void* to) const;
  void run_tile(const Workspace& workspace, const TileRange& range) const;
  void store(const Workspace& workspace, std::size_t output, const TileRange& range) const;

  PointwiseSpec spec_;
  PointwiseSchedule schedule_;
  LoopNest nest_;
  std::vector<Operand> operands_;  // inputs, coordinates, outputs: as in nest_
  int threads_ = 1;
  std::int64_t tiles_in_row_ = 1;
  std::int64_t rows_in_tile_ = 1;
  std::int64_t columns_in_tile_ = 0;
  std::int64_t tile_count_ = 0;
  std::int64_t grain_ = 1;
  std::size_t slot_bytes_ = 0;
  std::size_t registers_bytes_ = 0;
  std::size_t thread_bytes_ = 0;
  int direct_output_ = -1;  // the output that the last instruction may write without a store
};

bool is_uniform(const OperandSpec& operand) {
  for (std::size_t dim = 0; dim < operand.sizes.size(); ++dim) {
    if (operand.sizes[dim] > 1 && operand.strides[dim] != 0) return false;
  }
  return true;
}

PointwiseKernel::PointwiseKernel(const PointwiseSpec& spec) : spec_(spec) {
  require(spec.inputs.size() == spec.program.inputs.size(), kName, "inputs do not fit the program");
  require(spec.outputs.size() == spec.program.outputs.size() && !spec.outputs.empty(), kName,
          "outputs do not fit the program");
  std::vector<bool> uniform;
  for (const OperandSpec& input : spec.inputs) uniform.push_back(is_uniform(input));
  schedule_ = schedule_pointwise(spec.program, uniform);
  add_operands();
  choose_tiles();
  const bool all_float32 =
      std::all_of(schedule_.types.begin(), schedule_.types.end(),
                  [](RegisterType type) { return type == RegisterType::kFloat32; });
  slot_bytes_ = static_cast<std::size_t>(kTile) * (all_float32 ? 4 : 8);
  registers_bytes_ = (schedule_.types.size() * sizeof(void*) + 63) / 64 * 64;
  thread_bytes_ = registers_bytes_ + static_cast<std::size_t>(schedule_.slot_count) * slot_bytes_;
}

void PointwiseKernel::add_operands() {
  std::vector<Sizes> strides;
  for (std::size_t i = 0; i < spec_.inputs.size(); ++i) {
    const OperandSpec& input = spec_.inputs[i];
    require(input.sizes == spec_.sizes, kName, "an input is not expanded to the loop's sizes");
    const RegisterType type = spec_.program.inputs[i];
    Operand operand;
    operand.load = load_function(input.dtype, type);
    require(operand.load != nullptr, kName, "an input of a dtype that it does not take");
    operand.element_bytes = static_cast<std::int64_t>(dtype_size(input.dtype));
    operand.is_natural =
        natural_register(input.dtype) == type && dtype_size(input.dtype) == register_size(type);
    const auto& outputs = spec_.program.outputs;
    operand.may_alias =
        std::find(outputs.begin(), outputs.end(), static_cast<int>(i)) != outputs.end();
    operand.is_uniform = is_uniform(input);
    operands_.push_back(operand);
    strides.push_back(input.strides);
  }
  for (const int dim : schedule_.coordinate_dims) {
    require(dim >= 0 && dim < static_cast<int>(spec_.sizes.size()), kName,
            "a coordinate of no dim");
    strides.emplace_back(spec_.sizes.size(), 0);
    strides.back()[static_cast<std::size_t>(dim)] = 1;
    operands_.emplace_back();
  }
  for (std::size_t i = 0; i < spec_.outputs.size(); ++i) {
    const OperandSpec& output = spec_.outputs[i];
    require(output.sizes == spec_.sizes, kName, "an output does not have the loop's sizes");
    const RegisterType type = schedule_.types[static_cast<std::size_t>(spec_.program.outputs[i])];
    Operand operand;
    operand.store = store_function(type, output.dtype);
    require(operand.store != nullptr, kName, "an output of a dtype that it does not give");
    operand.element_bytes = static_cast<std::int64_t>(dtype_size(output.dtype));
    operand.is_natural =
        natural_register(output.dtype) == type && dtype_size(output.dtype) == register_size(type);
    operands_.push_back(operand);
    strides.push_back(output.strides);
    const bool is_last = !schedule_.instructions.empty() &&
                         schedule_.instructions.back().compute.result == spec_.program.outputs[i];
    if (is_last && operand.is_natural) direct_output_ = static_cast<int>(i);
  }
  nest_ = make_loop_nest(spec_.sizes, std::move(strides),
                         spec_.counted_rows ? LoopOrder::kKeep : LoopOrder::kReorder);
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    const Sizes& walked = nest_.strides[i];
    bool is_dense = walked.back() == 1 || nest_.inner_size() == 1;
    for (std::size_t dim = 0; dim + 1 < walked.size(); ++dim) {
      is_dense = is_dense && walked[dim] == walked[dim + 1] * nest_.sizes[dim + 1];
    }
    operands_[i].is_dense = is_dense;
  }
}

void PointwiseKernel::choose_tiles() {
  const std::int64_t size = nest_.inner_size();
  const std::int64_t rows = size == 0 ? 0 : nest_.rows();
  if (size > kTile) {
    // Tiles of equal size, in whole vectors.
    tiles_in_row_ = divide_up(size, kTile);
    columns_in_tile_ = round_up(divide_up(size, tiles_in_row_), 16);
    tiles_in_row_ = divide_up(size, columns_in_tile_);
    tile_count_ = rows * tiles_in_row_;
  } else {
    columns_in_tile_ = size;
    rows_in_tile_ = size == 0 ? 1 : std::min(kTile / size, rows);
    tile_count_ = divide_up(rows, rows_in_tile_);
  }
  const auto steps = static_cast<std::int64_t>(schedule_.instructions.size() + 1);
  const std::int64_t work = steps * rows_in_tile_ * columns_in_tile_;
  grain_ = std::max<std::int64_t>(1, kMinimumWork / std::max<std::int64_t>(1, work));
  threads_ = std::max(1, spec_.threads);
}

/// The first tiles, as far as they hold the first elements in row-major order.
std::int64_t PointwiseKernel::tiles_of(std::int64_t elements) const {
  const std::int64_t size = nest_.inner_size();
  if (tiles_in_row_ == 1) return divide_up(divide_up(elements, size), rows_in_tile_);
  return elements / size * tiles_in_row_ + divide_up(elements % size, columns_in_tile_);
}

TileRange PointwiseKernel::range_of(std::int64_t tile) const {
  if (tiles_in_row_ > 1) {
    const std::int64_t column = tile % tiles_in_row_ * columns_in_tile_;
    return {tile / tiles_in_row_, 1, column,
            std::min(columns_in_tile_, nest_.inner_size() - column)};
  }
  const std::int64_t row = tile * rows_in_tile_;
  return {row, std::min(rows_in_tile_, nest_.rows() - row), 0, columns_in_tile_};
}

std::byte* PointwiseKernel::slot(const Workspace& workspace, int reg) const {
  const auto index = static_cast<std::size_t>(schedule_.slots[static_cast<std::size_t>(reg)]);
  return workspace.tiles + index * slot_bytes_;
}

/// The operand's own memory if the tile lies in it exactly as it would in a register, else null.
std::byte* PointwiseKernel::direct_memory(std::size_t operand, void* memory,
                                          const TileRange& range) const {
  const Operand& walked = operands_[operand];
  if (!walked.is_natural || walked.may_alias) return nullptr;
  const bool fits =
      range.rows == 1 ? nest_.inner_stride(operand) == 1 || range.columns == 1 : walked.is_dense;
  if (!fits) return nullptr;
  const RowWalker walker(nest_.outer_sizes(), nest_.outer_strides(operand), range.row);
  const std::int64_t offset = walker.offset() + range.column * nest_.inner_stride(operand);
  return static_cast<std::byte*>(memory) + offset * walked.element_bytes;
}

void PointwiseKernel::fill_constants(const Workspace& workspace) const {
  const std::int64_t count = rows_in_tile_ * columns_in_tile_;
  for (const ConstantFill& constant : schedule_.constants) {
    void* to = slot(workspace, constant.reg);
    workspace.registers[constant.reg] = to;
    switch (schedule_.types[static_cast<std::size_t>(constant.reg)]) {
      case RegisterType::kFloat32:
        std::fill_n(static_cast<float*>(to), count, static_cast<float>(constant.floating));
        break;
      case RegisterType::kFloat64:
        std::fill_n(static_cast<double*>(to), count, constant.floating);
        break;
      case RegisterType::kInt64:
        std::fill_n(static_cast<std::int64_t*>(to), count, constant.integer);
        break;
    }
  }
  for (std::size_t i = 0; i < input_count(); ++i) {
    if (!operands_[i].is_uniform || schedule_.slots[i] < 0) continue;
    void* to = slot(workspace, static_cast<int>(i));
    workspace.registers[i] = to;
    operands_[i].load(workspace.memory[i], 0, count, to);
  }
}

void PointwiseKernel::load_coordinate(const LoadStep& step, const TileRange& range,
                                      void* to) const {
  const auto operand = static_cast<std::size_t>(step.operand);
  const std::int64_t stride = nest_.inner_stride(operand);
  auto* target = static_cast<std::int64_t*>(to);
  RowWalker walker(nest_.outer_sizes(), nest_.outer_strides(operand), range.row);
  for (std::int64_t row = 0; row < range.rows; ++row, walker.next()) {
    for (std::int64_t i = 0; i < range.columns; ++i) {
      *target++ = walker.offset() + (range.column + i) * stride;
    }
  }
}

void PointwiseKernel::load(const Workspace& workspace, const LoadStep& step,
                           const TileRange& range) const {
  const auto operand = static_cast<std::size_t>(step.operand);
  const Operand& source = operands_[operand];
  if (source.is_uniform && operand < input_count()) return;
  std::byte* to = slot(workspace, step.reg);
  workspace.registers[step.reg] = to;
  if (operand >= input_count()) return load_coordinate(step, range, to);
  void* memory = workspace.memory[operand];
  if (std::byte* direct = direct_memory(operand, memory, range)) {
    workspace.registers[step.reg] = direct;
    return;
  }
  const std::int64_t stride = nest_.inner_stride(operand);
  const auto row_bytes = static_cast<std::int64_t>(
                             register_size(schedule_.types[static_cast<std::size_t>(step.reg)])) *
                         range.columns;
  RowWalker walker(nest_.outer_sizes(), nest_.outer_strides(operand), range.row);
  const auto* from = static_cast<const std::byte*>(memory);
  for (std::int64_t row = 0; row < range.rows; ++row, walker.next()) {
    const std::int64_t offset = walker.offset() + range.column * stride;
    source.load(from + offset * source.element_bytes, stride, range.columns, to + row * row_bytes);
  }
}

void PointwiseKernel::store(const Workspace& workspace, std::size_t output,
                            const TileRange& range) const {
  const std::size_t operand = first_output() + output;
  const Operand& target = operands_[operand];
  const int reg = spec_.program.outputs[output];
  const std::int64_t stride = nest_.inner_stride(operand);
  const auto row_bytes =
      static_cast<std::int64_t>(register_size(schedule_.types[static_cast<std::size_t>(reg)])) *
      range.columns;
  const auto* from = static_cast<const std::byte*>(workspace.registers[reg]);
  auto* to = static_cast<std::byte*>(workspace.memory[input_count() + output]);
  RowWalker walker(nest_.outer_sizes(), nest_.outer_strides(operand), range.row);
  for (std::int64_t row = 0; row < range.rows; ++row, walker.next()) {
    const std::int64_t offset = walker.offset() + range.column * stride;
    target.store(from + row * row_bytes, stride, range.columns, to + offset * target.element_bytes);
  }
}

void PointwiseKernel::run_tile(const Workspace& workspace, const TileRange& range) const {
  int stored = -1;
  for (const ScheduledInstruction& instruction : schedule_.instructions) {
    for (const LoadStep& step : instruction.loads) load(workspace, step, range);
    const ComputeStep& compute = instruction.compute;
    TileCall call = {{}, slot(workspace, compute.result), range.count(), &compute.parameters};
    for (std::size_t i = 0; i < 3 && compute.arguments[i] >= 0; ++i) {
      call.arguments[i] = workspace.registers[compute.arguments[i]];
    }
    if (direct_output_ >= 0 && &instruction == &schedule_.instructions.back()) {
      const auto output = static_cast<std::size_t>(direct_output_);
      void* memory = workspace.memory[input_count() + output];
      if (void* direct = direct_memory(first_output() + output, memory, range)) {
        call.result = direct;
        stored = direct_output_;
      }
    }
    workspace.registers[compute.result] = call.result;
    compute.function(call);
  }
  for (const LoadStep& step : schedule_.final_loads) load(workspace, step, range);
  for (std::size_t output = 0; output < spec_.outputs.size(); ++output) {
    if (static_cast<int>(output) != stored) store(workspace, output, range);
  }
}

void PointwiseKernel::run(std::span<void* const> operands, std::byte* scratch) const {
  std::int64_t tiles = tile_count_;
  if (spec_.counted_rows && tiles > 0) {
    const std::int64_t elements = nest_.rows() * nest_.inner_size();
    tiles = tiles_of(counted_part(elements, *spec_.counted_rows, operands.front()));
    operands = operands.subspan(1);
  }
  parallel_for(threads_, tiles, grain_, [&](std::int64_t begin, std::int64_t end) {
    std::byte* own = scratch + static_cast<std::size_t>(thread_index()) * thread_bytes_;
    const Workspace workspace = {operands, own + registers_bytes_, reinterpret_cast<void**>(own)};
    fill_constants(workspace);
    for (std::int64_t tile = begin; tile < end; ++tile) run_tile(workspace, range_of(tile));
  });
}

}  // namespace

int pointwise_arity(PointwiseOp op) {
  switch (op) {
    case PointwiseOp::kConstant:
    case PointwiseOp::kCoordinate:
      return 0;
    case PointwiseOp::kMultiplyAdd:
    case PointwiseOp::kLerp:
    case PointwiseOp::kWhere:
      return 3;
    case PointwiseOp::kAdd:
    case PointwiseOp::kSubtract:
    case PointwiseOp::kMultiply:
    case PointwiseOp::kDivide:
    case PointwiseOp::kDivideTrunc:
    case PointwiseOp::kDivideFloor:
    case PointwiseOp::kRemainder:
    case PointwiseOp::kFmod:
    case PointwiseOp::kPower:
    case PointwiseOp::kMaximum:
    case PointwiseOp::kMinimum:
    case PointwiseOp::kFmax:
    case PointwiseOp::kFmin:
    case PointwiseOp::kAtan2:
    case PointwiseOp::kEqual:
    case PointwiseOp::kNotEqual:
    case PointwiseOp::kLess:
    case PointwiseOp::kLessEqual:
    case PointwiseOp::kGreater:
    case PointwiseOp::kGreaterEqual:
    case PointwiseOp::kLogicalAnd:
    case PointwiseOp::kLogicalOr:
    case PointwiseOp::kLogicalXor:
    case PointwiseOp::kBitwiseAnd:
    case PointwiseOp::kBitwiseOr:
    case PointwiseOp::kBitwiseXor:
    case PointwiseOp::kShiftLeft:
    case PointwiseOp::kShiftRight:
      return 2;
    default:
      return 1;
  }
}

KernelPtr select_pointwise(const PointwiseSpec& spec) {
  return std::make_unique<PointwiseKernel>(spec);
}

}  // namespace unfuse::cpu
