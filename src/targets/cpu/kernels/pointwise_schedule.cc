#include "targets/cpu/kernels/pointwise_schedule.h"

#include <algorithm>

namespace unfuse::cpu {
namespace {

constexpr const char* kName = "pointwise";

bool is_conversion(PointwiseOp op) {
  return op == PointwiseOp::kToFloat32 || op == PointwiseOp::kToFloat64 ||
         op == PointwiseOp::kToInt64;
}

RegisterType result_type(const PointwiseInstruction& instruction) {
  switch (instruction.op) {
    case PointwiseOp::kToFloat32:
      return RegisterType::kFloat32;
    case PointwiseOp::kToFloat64:
      return RegisterType::kFloat64;
    case PointwiseOp::kToInt64:
    case PointwiseOp::kCoordinate:
      return RegisterType::kInt64;
    default:
      return instruction.type;
  }
}

class Scheduler {
 public:
  Scheduler(const PointwiseProgram& program, const std::vector<bool>& keeps_slot)
      : program_(program), keeps_slot_(keeps_slot) {}

  PointwiseSchedule schedule() {
    find_types();
    find_last_uses();
    schedule_.slots.assign(schedule_.types.size(), -1);
    operands_.assign(schedule_.types.size(), -1);
    for (int i = 0; i < input_count(); ++i) operands_[static_cast<std::size_t>(i)] = i;
    for (std::size_t j = 0; j < program_.instructions.size(); ++j) add_instruction(j);
    for (const int output : program_.outputs) load(output, schedule_.final_loads);
    return std::move(schedule_);
  }

 private:
  int input_count() const { return static_cast<int>(program_.inputs.size()); }

  void find_types() {
    schedule_.types = program_.inputs;
    for (const PointwiseInstruction& instruction : program_.instructions) {
      check(instruction);
      schedule_.types.push_back(result_type(instruction));
    }
    for (const int output : program_.outputs) {
      require(output >= 0 && output < register_count(), kName, "an output of no register");
    }
  }

  int register_count() const { return static_cast<int>(schedule_.types.size()); }

  /// Arguments are registers defined before, of the instruction's type.
  void check(const PointwiseInstruction& instruction) const {
    const int arity = pointwise_arity(instruction.op);
    for (int i = 0; i < arity; ++i) {
      const int argument = instruction.arguments[static_cast<std::size_t>(i)];
      require(argument >= 0 && argument < register_count(), kName,
              "an argument that is not defined before its use");
      const RegisterType type = schedule_.types[static_cast<std::size_t>(argument)];
      require(is_conversion(instruction.op) || type == instruction.type, kName,
              "an argument of another type than its instruction");
    }
  }

  void find_last_uses() {
    last_use_.assign(schedule_.types.size(), -1);
    for (std::size_t j = 0; j < program_.instructions.size(); ++j) {
      for (const int argument : program_.instructions[j].arguments) {
        if (argument >= 0) last_use_[static_cast<std::size_t>(argument)] = static_cast<int>(j);
      }
    }
    // Outputs are stored after everything has been computed.
    const auto end = static_cast<int>(program_.instructions.size());
    for (const int output : program_.outputs) last_use_[static_cast<std::size_t>(output)] = end;
  }

  int take_slot() {
    if (free_slots_.empty()) return schedule_.slot_count++;
    const int slot = free_slots_.back();
    free_slots_.pop_back();
    return slot;
  }

  /// Emits a load when the register is an operand that is not loaded yet.
  void load(int reg, std::vector<LoadStep>& loads) {
    const auto index = static_cast<std::size_t>(reg);
    if (operands_[index] < 0 || schedule_.slots[index] >= 0) return;
    // One that is kept must not get a slot that held something else before: it is filled first.
    const bool is_kept = operands_[index] < input_count() && keeps_slot_[index];
    schedule_.slots[index] = is_kept ? schedule_.slot_count++ : take_slot();
    loads.push_back({reg, operands_[index]});
  }

  void release_after(std::size_t instruction, int reg) {
    const auto index = static_cast<std::size_t>(reg);
    const bool is_kept =
        operands_[index] >= 0 && operands_[index] < input_count() && keeps_slot_[index];
    if (is_kept || is_constant(reg)) return;
    if (last_use_[index] != static_cast<int>(instruction)) return;
    const int slot = schedule_.slots[index];
    if (std::find(free_slots_.begin(), free_slots_.end(), slot) == free_slots_.end()) {
      free_slots_.push_back(slot);
    }
  }

  bool is_constant(int reg) const {
    const int instruction = reg - input_count();
    return instruction >= 0 && program_.instructions[static_cast<std::size_t>(instruction)].op ==
                                   PointwiseOp::kConstant;
  }

  void add_instruction(std::size_t j) {
    const PointwiseInstruction& instruction = program_.instructions[j];
    const int result = input_count() + static_cast<int>(j);
    const auto result_index = static_cast<std::size_t>(result);
    if (instruction.op == PointwiseOp::kConstant) {
      schedule_.slots[result_index] = schedule_.slot_count++;
      schedule_.constants.push_back({result, instruction.parameters[0], instruction.integer});
      return;
    }
    if (instruction.op == PointwiseOp::kCoordinate) {
      operands_[result_index] = input_count() + static_cast<int>(schedule_.coordinate_dims.size());
      schedule_.coordinate_dims.push_back(static_cast<int>(instruction.integer));
      return;
    }
    ScheduledInstruction scheduled;
    for (const int argument : instruction.arguments) {
      if (argument >= 0) load(argument, scheduled.loads);
    }
    // A conversion may change the element size, and so cannot write over what it reads.
    const bool in_place = !is_conversion(instruction.op);
    if (!in_place) schedule_.slots[result_index] = take_slot();
    for (const int argument : instruction.arguments) {
      if (argument >= 0) release_after(j, argument);
    }
    if (in_place) schedule_.slots[result_index] = take_slot();
    const RegisterType argument_type =
        schedule_.types[static_cast<std::size_t>(instruction.arguments[0])];
    const TileFunction function = tile_function(simplified(instruction), argument_type);
    require(function != nullptr, kName, "an op that its type does not have");
    scheduled.compute = {function, instruction.arguments, result, instruction.parameters};
    schedule_.instructions.push_back(std::move(scheduled));
    if (last_use_[result_index] < 0) free_slots_.push_back(schedule_.slots[result_index]);
  }

  /// Powers with the exponents that torch treats on their own.
  PointwiseOp simplified(const PointwiseInstruction& instruction) const {
    if (instruction.op != PointwiseOp::kPower || !is_constant(instruction.arguments[1])) {
      return instruction.op;
    }
    if (instruction.type == RegisterType::kInt64) return instruction.op;
    const auto constant = static_cast<std::size_t>(instruction.arguments[1] - input_count());
    const double exponent = program_.instructions[constant].parameters[0];
    if (exponent == 2) return PointwiseOp::kSquare;
    if (exponent == 3) return PointwiseOp::kCube;
    if (exponent == 0.5) return PointwiseOp::kSqrt;
    if (exponent == -0.5) return PointwiseOp::kRsqrt;
    if (exponent == -1) return PointwiseOp::kReciprocal;
    return instruction.op;
  }

  const PointwiseProgram& program_;
  const std::vector<bool>& keeps_slot_;
  PointwiseSchedule schedule_;
  std::vector<int> operands_;  // the operand that a register is loaded from, or -1
  std::vector<int> last_use_;  // instruction, or -1 when there is none
  std::vector<int> free_slots_;
};

}  // namespace

PointwiseSchedule schedule_pointwise(const PointwiseProgram& program,
                                     const std::vector<bool>& keeps_slot) {
  return Scheduler(program, keeps_slot).schedule();
}

}  // namespace unfuse::cpu
