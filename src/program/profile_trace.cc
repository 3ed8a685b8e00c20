// A profile as Chrome trace events: the JSON that ui.perfetto.dev and chrome://tracing show. The
// format is described in "Trace Event Format" (Chromium); here it is complete events ("X") and
// names of threads ("M").
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>

#include "program/recording.h"
#include "tensor_io/files.h"

namespace unfuse::program {
namespace {

using Json = nlohmann::ordered_json;

/// A lane of the trace for each thread: those of one caller stand together.
constexpr int kLanesOfACaller = 1000;

int lane_of(const cpu::RecordedSlice& slice) {
  return slice.caller * kLanesOfACaller + std::min(slice.thread, kLanesOfACaller - 1);
}

double microseconds(cpu::Clock::duration duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

Json slice_event(const cpu::RecordedSlice& slice, const Profile::Recording& recording) {
  const double duration = microseconds(slice.end - slice.begin);
  Json event = {{"name", "run"},   {"ph", "X"}, {"ts", microseconds(slice.begin - recording.start)},
                {"dur", duration}, {"pid", 1},  {"tid", lane_of(slice)}};
  if (slice.step < 0) return event;
  const cpu::RecordedStep& step = recording.recorder->steps()[static_cast<std::size_t>(slice.step)];
  event["name"] = slice.is_part ? step.op + " (part)" : step.op;
  if (slice.is_part) return event;
  Json& details = event["args"];
  const auto add = [&](const char* name, const std::string& text) {
    if (!text.empty()) details[name] = text;
  };
  add("node", step.node);
  add("module", step.module_path);
  add("source", step.source);
  if (step.flops > 0) details["GFLOP/s"] = step.flops / duration / 1e3;
  if (step.bytes > 0) details["GB/s"] = step.bytes / duration / 1e3;
  return event;
}

Json name_event(int lane) {
  const int caller = lane / kLanesOfACaller;
  const int thread = lane % kLanesOfACaller;
  const std::string name =
      thread == 0 ? "caller " + std::to_string(caller)
                  : "caller " + std::to_string(caller) + ", thread " + std::to_string(thread);
  return {
      {"name", "thread_name"}, {"ph", "M"}, {"pid", 1}, {"tid", lane}, {"args", {{"name", name}}}};
}

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

}  // namespace

void save_trace(const Profile::Recording& recording, const std::string& path) {
  tensor_io::ReplacedFile replaced(path);
  std::unique_ptr<std::FILE, CloseFile> file(std::fopen(replaced.path().c_str(), "wb"));
  const auto put = [&](const std::string& text) {
    if (file != nullptr && std::fwrite(text.data(), 1, text.size(), file.get()) == text.size())
      return;
    throw tensor_io::WriteError(path, errno);
  };
  const auto put_event = [&](const Json& event, const char* before) {
    // Names come from files, and may not be UTF-8.
    put(before + event.dump(-1, ' ', false, Json::error_handler_t::replace));
  };
  put("{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n");
  const char* before = "";
  std::set<int> lanes;
  for (const cpu::RecordedSlice& slice : recording.recorder->slices()) {
    // The caller's own part is seen from its step.
    if (slice.is_part && slice.thread == 0) continue;
    lanes.insert(lane_of(slice));
    put_event(slice_event(slice, recording), std::exchange(before, ",\n"));
  }
  for (const int lane : lanes) put_event(name_event(lane), std::exchange(before, ",\n"));
  put("\n]}\n");
  if (std::fclose(file.release()) != 0) throw tensor_io::WriteError(path, errno);
  replaced.commit();
}

}  // namespace unfuse::program
