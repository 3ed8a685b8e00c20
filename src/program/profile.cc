#include "unfuse/profile.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <tuple>
#include <utility>

#include "program/recording.h"
#include "targets/cpu/kernels/gemm.h"
#include "targets/cpu/machine_limits.h"
#include "targets/cpu/parallel.h"
#include "unfuse/error.h"

namespace unfuse {
namespace {

int threads_or_default(int threads) { return threads > 0 ? threads : cpu::default_threads(); }

double seconds_of(const cpu::RecordedSlice& slice) {
  return std::chrono::duration<double>(slice.end - slice.begin).count();
}

ProfileRow row_of(const cpu::RecordedStep& step, ProfileBy by) {
  ProfileRow row;
  row.op = step.op;
  if (by == ProfileBy::kOp) return row;
  row.node = step.node;
  row.module_path = step.module_path;
  row.source = step.source;
  return row;
}

}  // namespace

MachineLimits measure_machine_limits(int threads) {
  const int used = threads_or_default(threads);
  const cpu::BandwidthMeter meter;
  MachineLimits limits;
  limits.flops_per_second = cpu::measure_arithmetic_limit(used);
  limits.bfloat16_flops_per_second =
      cpu::measure_arithmetic_limit(used, cpu::kMeasuringSeconds, cpu::bfloat16_products());
  limits.bytes_per_second = meter.measure(used);
  return limits;
}

Profile::Profile(std::shared_ptr<const Recording> recording) : recording_(std::move(recording)) {}

std::int64_t Profile::runs() const {
  const auto& slices = recording_->recorder->slices();
  return std::count_if(slices.begin(), slices.end(),
                       [](const cpu::RecordedSlice& slice) { return slice.step < 0; });
}

double Profile::seconds() const {
  double sum = 0;
  for (const cpu::RecordedSlice& slice : recording_->recorder->slices()) {
    if (slice.step < 0) sum += seconds_of(slice);
  }
  return sum;
}

const MachineLimits& Profile::limits() const { return recording_->limits; }

std::vector<ProfileRow> Profile::rows(ProfileBy by) const {
  const std::vector<cpu::RecordedStep>& steps = recording_->recorder->steps();
  std::vector<ProfileRow> rows;
  std::map<std::tuple<std::string, std::string, std::string, std::string>, std::size_t> found;
  std::vector<std::size_t> row_of_step;
  for (const cpu::RecordedStep& step : steps) {
    ProfileRow row = row_of(step, by);
    const auto key = std::tuple(row.op, row.node, row.module_path, row.source);
    const auto [place, is_new] = found.emplace(key, rows.size());
    if (is_new) rows.push_back(std::move(row));
    row_of_step.push_back(place->second);
  }
  for (const cpu::RecordedSlice& slice : recording_->recorder->slices()) {
    if (slice.step < 0 || slice.is_part) continue;
    const auto step = static_cast<std::size_t>(slice.step);
    ProfileRow& row = rows[row_of_step[step]];
    ++row.calls;
    row.seconds += seconds_of(slice);
    row.flops += steps[step].flops;
    row.bfloat16_flops += steps[step].bfloat16_flops;
    row.bytes += steps[step].bytes;
  }
  if (by == ProfileBy::kOp) {
    std::stable_sort(rows.begin(), rows.end(), [](const ProfileRow& left, const ProfileRow& right) {
      return left.seconds > right.seconds;
    });
  }
  return rows;
}

std::string Profile::table(ProfileBy by) const {
  return program::profile_table(*this, by, recording_->threads);
}

void Profile::save_trace(const std::string& path) const { program::save_trace(*recording_, path); }

Profiler::Profiler(int threads) : recording_(std::make_shared<Profile::Recording>()) {
  // Before measuring: a second profiler is refused at once.
  cpu::Recorder::activate(recording_->recorder);
  try {
    recording_->threads = threads_or_default(threads);
    recording_->limits = measure_machine_limits(threads);
  } catch (...) {
    cpu::Recorder::deactivate();
    throw;
  }
  recording_->start = cpu::Clock::now();
}

Profiler::~Profiler() {
  if (recording_ != nullptr) stop();
}

Profile Profiler::stop() {
  if (recording_ == nullptr) {
    throw Error(ErrorKind::kInvalidArgument, "this profiler has been stopped already");
  }
  cpu::Recorder::deactivate();
  recording_->recorder->close();
  return Profile(std::exchange(recording_, nullptr));
}

}  // namespace unfuse
