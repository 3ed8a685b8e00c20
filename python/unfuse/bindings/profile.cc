// Profiles, and what the machine could do.
#include "unfuse/profile.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <cstdint>

#include "bindings.h"
#include "targets/cpu/recorder.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace unfuse::python {
namespace {

ProfileBy kind_of(const std::string& by) {
  return by == "node" ? ProfileBy::kNode : ProfileBy::kOp;
}

nb::list rows(const Profile& profile, const std::string& by) {
  nb::list result;
  for (const ProfileRow& row : profile.rows(kind_of(by))) {
    result.append(nb::make_tuple(row.op, row.node, row.module_path, row.source, row.calls,
                                 row.seconds, row.flops, row.bytes));
  }
  return result;
}

cpu::Clock::time_point time_of(std::int64_t nanoseconds) {
  return cpu::Clock::time_point(std::chrono::nanoseconds(nanoseconds));
}

/// Times are those of time.perf_counter_ns(), which reads the same clock.
void record(const std::string& op, const std::string& module_path, const std::string& source,
            std::int64_t begin, std::int64_t end) {
  const auto recorder = cpu::Recorder::active();
  if (recorder == nullptr) return;
  cpu::RecordedStep step;
  step.op = op;
  step.module_path = module_path;
  step.source = source;
  recorder->add_step(std::move(step), {time_of(begin), time_of(end)});
}

}  // namespace

void register_profile(nb::module_& module) {
  nb::class_<Profile>(module, "Profile", "What was recorded.")
      .def_prop_ro("runs", &Profile::runs)
      .def_prop_ro("seconds", &Profile::seconds)
      .def_prop_ro("limits",
                   [](const Profile& profile) {
                     return nb::make_tuple(profile.limits().flops_per_second,
                                           profile.limits().bytes_per_second);
                   })
      .def("rows", &rows, "by"_a)
      .def(
          "table",
          [](const Profile& profile, const std::string& by) { return profile.table(kind_of(by)); },
          "by"_a)
      .def("save_trace", &Profile::save_trace, "path"_a, nb::call_guard<nb::gil_scoped_release>());
  nb::class_<Profiler>(module, "Profiler", "Records all runs until it is stopped.")
      .def(nb::init<int>(), "threads"_a, nb::call_guard<nb::gil_scoped_release>())
      .def("stop", &Profiler::stop);
  module.def("is_recording", [] { return cpu::Recorder::active() != nullptr; });
  module.def("record", &record, "op"_a, "module_path"_a, "source"_a, "begin"_a, "end"_a,
             "Adds what torch ran to the profile that is being recorded.");
  module.def(
      "measure_machine_limits",
      [](int threads) {
        const MachineLimits limits = measure_machine_limits(threads);
        nb::gil_scoped_acquire locked;
        return nb::make_tuple(limits.flops_per_second, limits.bytes_per_second);
      },
      "threads"_a, nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace unfuse::python
